// What the page holds, unpacked: the other side of detail/packing.py.
const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const payload = JSON.parse(byId("payload").textContent);

async function unzipped(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Four planes of bytes → differences → whole multiples of a step, held against another array.
function codesOf(bytes, place, length, against) {
  const out = new Int32Array(length);
  let sum = 0;
  for (let i = 0; i < length; i += 1) {
    const folded = bytes[place + i] | bytes[place + length + i] << 8
      | bytes[place + 2 * length + i] << 16 | bytes[place + 3 * length + i] << 24;
    sum = (sum + ((folded >>> 1) ^ -(folded & 1))) | 0;
    out[i] = against ? (sum + against[i]) | 0 : sum;
  }
  return out;
}

async function unpacked(packed, id) {
  const bytes = await unzipped(byId(id).textContent);
  const { length } = packed;
  const arrays = {}, masks = {}, beside = {};
  let place = 0;
  for (const name of packed.names) {
    arrays[name] = codesOf(bytes, place, length, arrays[payload.against[name]]);
    place += 4 * length;
  }
  for (const name of packed.masks) {
    masks[name] = bytes.subarray(place, place + length);
    place += length;
  }
  for (const [name, index, value] of packed.beside) beside[`${name} ${index}`] = value;
  return { arrays, masks, beside, step: packed.step, digits: packed.digits };
}
