// Where names stand on a map: beside their node, over no other node and no other name; else nowhere.
const SIZE = 11; // pixels, as in live.css
const LINE = 12;
const EDGE = 3; // of the map, left free
const GAP = 5; // between a node and its name
const LOW = 4; // from a line's middle to where its letters stand

// Boxes are [left, top, right, bottom].
const apart = (a, b) => a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];

const pen = document.createElement("canvas").getContext("2d");

function around(spot) {
  const wide = pen.measureText(spot.text).width, away = spot.radius + GAP;
  const at = (dx, dy, anchor) => {
    const left = spot.x + dx - (anchor === "middle" ? wide / 2 : anchor === "end" ? wide : 0);
    const top = spot.y + dy - LINE / 2;
    return { dx, dy: dy + LOW, anchor, box: [left, top, left + wide, top + LINE] };
  };
  const below = away + LINE / 2;
  return [at(0, below, "middle"), at(0, -below, "middle"), at(away, 0, "start"), at(-away, 0, "end")];
}

// Spots are { x, y, radius, text }, those that matter most first; `width` is the map's.
export function labels(spots, width) {
  const taken = spots.map(({ x, y, radius }) => [x - radius, y - radius, x + radius, y + radius]);
  pen.font = `${SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  return spots.map((spot, own) => {
    const free = ({ box }) => box[0] >= EDGE && box[2] <= width - EDGE && taken.every((other, k) => k === own || apart(box, other));
    const found = around(spot).find(free);
    if (found) taken.push(found.box);
    return found ?? null;
  });
}
