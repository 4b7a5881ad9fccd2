"""What columns are called: words of several languages, and the short names of weather services."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType

from fieldmend.quantities.kinds import Kind

Span = tuple[float, float]


@dataclass(frozen=True)
class Measure:
    """A quantity that names are known of.

    Attributes
    ----------
    kind
        What it is, unless the readings contradict.
    families
        Of the units it is measured in.
    low, high
        Bounds of estimates, in any of its units.
    possible
        Unit → lowest and highest value that can be true; "" is for an unknown unit.
    signed
        Whether a node may well go below zero where others do not: a tide turns, a battery is
        charged.
    """

    kind: Kind
    families: tuple[str, ...] = ()
    low: float = -inf
    high: float = inf
    possible: Mapping[str, Span] = field(default_factory=dict)
    signed: bool = False


# The air near the ground: coldest and hottest ever measured −89.2 and 56.7 °C. Without a unit it
# may be degrees of either sort.
AIR = {"°C": (-90.0, 60.0), "°F": (-130.0, 140.0), "K": (183.15, 333.15), "": (-130.0, 140.0)}
WATER = {"°C": (-5.0, 100.0), "°F": (23.0, 212.0), "K": (268.15, 373.15), "": (-5.0, 212.0)}
ANY = {"°C": (-273.15, inf), "°F": (-459.67, inf), "K": (0.0, inf), "": (-273.15, inf)}
# Strongest gust ever measured: 113 m/s.
WIND = {"m/s": (0.0, 115.0), "kt": (0.0, 225.0), "km/h": (0.0, 415.0), "mph": (0.0, 260.0),
        "": (0.0, 415.0)}  # fmt: skip
# From the top of Everest to the deepest of highs.
BARO = {"hPa": (300.0, 1100.0), "Pa": (30_000.0, 110_000.0), "kPa": (30.0, 110.0),
        "inHg": (8.8, 32.5), "mmHg": (225.0, 825.0)}  # fmt: skip
# More than 1361 W/m² comes from the sun through gaps between bright clouds, for minutes.
SUN = {"W/m²": (-20.0, 2000.0)}
DAMP = {"%": (-1.0, 105.0), "1": (-0.01, 1.05)}

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "wind direction": Measure(Kind.CIRCULAR, ("angle",)),
        "direction": Measure(Kind.CIRCULAR, ("angle",)),
        "time of day": Measure(Kind.CIRCULAR, ("time",)),
        "rain": Measure(Kind.INTERMITTENT, ("length",), 0.0),
        "sunshine": Measure(Kind.INTERMITTENT, ("time",), 0.0),
        "meter": Measure(Kind.ACCUMULATOR, ("energy", "length"), 0.0),
        "humidity": Measure(Kind.BOUNDED, ("share",), 0.0, 100.0, DAMP),
        "soil moisture": Measure(Kind.BOUNDED, ("share",), 0.0, 100.0),
        "share": Measure(Kind.BOUNDED, ("share",), 0.0, 100.0),
        "cloud cover": Measure(Kind.BOUNDED, ("share",), 0.0, 100.0),
        "acidity": Measure(Kind.BOUNDED, (), 0.0, 14.0, {"": (0.0, 14.0)}),
        "radiation": Measure(Kind.POSITIVE, ("irradiance",), 0.0, possible=SUN),
        "light": Measure(Kind.POSITIVE, ("light", "irradiance"), 0.0),
        "wind speed": Measure(Kind.POSITIVE, ("speed",), 0.0, possible=WIND),
        "concentration": Measure(Kind.POSITIVE, ("concentration",), 0.0),
        "visibility": Measure(Kind.POSITIVE, ("length",), 0.0),
        "wave height": Measure(Kind.POSITIVE, ("length",), 0.0),
        "snow depth": Measure(Kind.POSITIVE, ("length",), 0.0),
        "height of waves or snow": Measure(Kind.POSITIVE, ("length",), 0.0),
        "snow water equivalent": Measure(Kind.POSITIVE, ("length",), 0.0),
        "flow": Measure(Kind.POSITIVE, (), 0.0, signed=True),
        "turbidity": Measure(Kind.POSITIVE, (), 0.0),
        "power": Measure(Kind.POSITIVE, (), 0.0, signed=True),
        "wave period": Measure(Kind.LINEAR, ("time",), 0.0),
        "air temperature": Measure(Kind.LINEAR, ("temperature",), possible=AIR),
        "water temperature": Measure(Kind.LINEAR, ("temperature",), possible=WATER),
        "temperature": Measure(Kind.LINEAR, ("temperature",), possible=ANY),
        "air pressure": Measure(Kind.LINEAR, ("pressure",), possible=BARO),
        "pressure": Measure(Kind.LINEAR, ("pressure",)),  # of the air, if its range says so
        "voltage": Measure(Kind.LINEAR, ("voltage",)),
        "sound level": Measure(Kind.LINEAR, ("sound",)),
        "salinity": Measure(Kind.LINEAR, (), 0.0),
        "sequence number": Measure(Kind.PASSED),
        "identifier": Measure(Kind.PASSED),
        "label": Measure(Kind.PASSED),
    }
)

# Names that are whole: too short to be looked for inside others. Météo-France, DWD, MeteoSwiss,
# NDBC, METAR and the usual letters of loggers.
WHOLE: Mapping[str, str] = MappingProxyType(
    {
        name: what
        for what, names in {
            "wind direction": "dd dxi dxy dxi3s wd wdir drct wnddir dir winddir mwd dkl010z0",
            "rain": "rr rr1 rr3 rr6 rr12 rr24 rrr r1 rs rre150z0 pp prcp precip p01i p01m ppt "
            " rainfall",
            "sunshine": "insolh insol sd sdur sre000z0 ssd",
            "humidity": "u ux un rh rf rhum relh hum hr feuchte relhum rf_tu rf_10 ure200s0 "
            "rhavg h2_rh",
            "cloud cover": "n nbas nh tcc clct cldcvr skyc",
            "radiation": "ray_glo01 glo gsr swdown swin sw_in gre000z0 ghi dni dhi rad rg qg rsds",
            "light": "par lux light licht ppfd uv uvi uva uvb lumi",
            "wind speed": "ff fxi fxy fx fm wspd wspeed wspm gst gust sknt ws wnd fkl010z0 wg "
            "wdsp mxspd",
            "concentration": "pm pm1 pm10 pm25 pm2 pm4 no no2 nox nh3 o3 so2 co co2 h2s voc tvoc "
            "bc ch4 ozone nmhc benzene c6h6",
            "visibility": "vv vis visby vsby",
            "wave height": "wvht swh hm0",
            "height of waves or snow": "hs",
            "snow depth": "sss hs_snow snowdepth snow_depth schneehoehe",
            "wave period": "dpd apd tp tm02",
            "air temperature": "t tx tn ta tair atmp tmpf tmpc t2m tt tl tas tre200s0 tt_tu "
            "tt_10 tm5_10 td_10 td dewp "
            "dwpc dwpf tdew airtemp",
            "water temperature": "wtmp sst twater",
            "temperature": "temp tmp temperature temperatur t_10 t_20 t_50 t_100 ts tsoil tg",
            "air pressure": "pres pmer slp mslp baro qfe qnh qff p0 pp_10 prestas0 ppp "
            "pressure_msl",
            "pressure": "p pressure druck",
            "voltage": "v vbat vbatt batt battery voltage volt vcc ubat",
            "soil moisture": "vwc swc sm",
            "acidity": "ph",
            "salinity": "sal salinity psu",
            "time of day": "hour hour_of_day hod stunde",
            "sequence number": "seq seqno sequence epoch counter_id packet packetno msgid fcnt "
            "record recno reading readings rowid index idx row nr no_ obs_no frame serial",
            "identifier": "id sensor_id station_id node_id uid uuid",
            "label": "label class category flag qc qc_flag quality event fault fault_set status "
            "indoor outdoor is_indoor ww w1 w2 etat_sol code weather_code error",
        }.items()
        for name in names.split()
    }
)
# "no" is nitric oxide to those who measure air; a number is spelt "nr" or "no_" here.

# Names with a height, a level or a way of filling behind them: FLUXNET and AmeriFlux (TA_1_1_1,
# SW_IN_F), SLF's stations (VW_30MIN_MEAN), MeteoSwiss (tre200h0, fu3010z1).
TOWERS: tuple[tuple[str, str], ...] = (
    (r"^(ta|tss)(_f|_\d+min|_\d+_\d+)|^t[rd]e\d{3}[a-z]\d", "air temperature"),
    (r"^ts(_f|_\d+_\d|_\d+min)|^tso\d{3}", "temperature"),
    (r"^(ws_(f|\d)|vw_\d+min)|^(fkl|fk1|fu3|fve|fkd)\d{3}[a-z]\d", "wind speed"),
    (r"^(wd_\d|dw_\d+min)|^(dkl|dv1)\d{3}[a-z]\d", "wind direction"),
    (r"^[sl]w_(in|out)(_|$)|^[iro]swr_|^gre\d{3}", "radiation"),
    (r"^swc_(f|\d)", "soil moisture"),
    (r"^pa(_f)?(_\d|$)|^(prest|pp0|pre)[a-z]*\d*[hsd]\d$", "air pressure"),
    (r"^p_f$|^(rre|rka)\d{3}[a-z]\d", "rain"),
    (r"^sre\d{3}[a-z]\d", "sunshine"),
    (r"^ure\d{3}[a-z]\d", "humidity"),
)  # fmt: skip

# Words inside a name, in the order in which they are asked.
INSIDE: tuple[tuple[str, str], ...] = (
    (r"(^|_)(seqno|seq|sequence|epoch|packet)($|_)", "sequence number"),
    (r"(^|_)(id|ids|uid|uuid|nr|nummer|serial)$", "identifier"),
    (r"(^|_)(label|class|category|flag|qc|quality|code|status|typ|type|mode|error)$", "label"),
    (r"(^|_)(flags?|qc|qa|qf|qualifier|validity|verification)($|_)|^qn(_\d+)?$", "label"),
    (r".(_attributes|_ind)$", "label"),
    (r"(^|_)is_|^(in|out)door$|_(ok|valid|alarm|on|off)$", "label"),
    (r"wind.*(dir|richt|aspect|deg$)|(dir|direcc?ion|richtung).*(wind|vent|viento|vento|gust|boe)|"
     r"windr(i|$)|vindretning|vane$|(^|_)(vent|viento|vento)_(.*_)?dire[cz]", "wind direction"),
    (r"(^|_)(dir|direction|richtung|heading|azimut|azimuth|bearing|aspect|course|kompass|compass)"
     r"($|_)", "direction"),
    (r"hour_of_day|time_of_day|tageszeit", "time of day"),
    (r"(rain|precip|niederschl|pluie|lluvia|pioggia|energy|energie|kwh|water|wasser|gas|flow|"
     r"pulse|impuls|tip|count|z(ae|a)hler).*(total|acc|cum|sum|meter|count|stand|index|odo)|"
     r"(cumul|accum|total|acc)_?.*(rain|precip|energy|kwh|flow|water)|z(ae|a)hlerstand|odometer|"
     r"^(counter|kwh|energy|meter|compteur|pulses|tips)$|(^|_)(counter|kwh)$", "meter"),
    (r"sunshine|sonnenschein|insolation|heliop|sun_?dur", "sunshine"),
    (r"rain|precip|niederschl|pluie|lluvia|pioggia|nedb(o|oe)r|snowfall|regen(?!b)", "rain"),
    (r"moist.*soil|soil.*(moist|water|vwc)|water_content|bodenfeucht|humedad_(del_)?suelo",
     "soil moisture"),
    (r"humid|feucht|humed|umidi[td]|umidad|vochtig|fukt|(^|_)rh($|_|\d)", "humidity"),
    (r"cloud|bewoelk|bewolk|nebul|nubos|okta", "cloud cover"),
    (r"wave.*(height|hgt)|wellenh|swell.*height", "wave height"),
    (r"wave.*per|peak_period", "wave period"),
    (r"snow_?water|(^|_)swe($|_)", "snow water equivalent"),
    (r"snow.*(depth|height)|schneeh|neige|^hto\d", "snow depth"),
    (r"radiation|strahlung|rayonnement|radiaci|irradian|pyrano|solar(?!_(panel|volt|batt))|"
     r"short_?wave", "radiation"),
    (r"(^|_)(par|ppfd)($|_)|(^|_)light|(^|_)lux($|_)|illumin|helligkeit|(^|_)uv", "light"),
    (r"gust|windsp|wind.*(speed|vel|geschw|force|vitesse)|windgesch|(speed|vitesse|velocid).*"
     r"(wind|vent)|(^|_)wind$|boe|rafale|rajada|anemo|(^|_)(viento|vento)_(.*_)?veloc",
     "wind speed"),
    (r"(^|_)(pm_?\d+|pm2_5|no2|nox|o3|so2|co2?|nh3|h2s|t?voc|ozone|ozon|benzene|ch4|dust|"
     r"staub|soot|radon)($|_)|concentration|konzentration", "concentration"),
    (r"visib|sichtweite", "visibility"),
    (r"turbid|tr(ue|u)bung|chlorophyll", "turbidity"),
    (r"discharge|abfluss|streamflow|(^|_)flow($|_)|debit|durchfluss", "flow"),
    (r"(water|sea|wasser|mer|eau|river|lake|agua).*(temp|tmp)|(temp|tmp).*(water|wasser|sea|eau)",
     "water temperature"),
    (r"(air|luft|ambient|outdoor|aussen).*(temp|tmp)|(temp|tmp).*(air|luft|aussen|outdoor|2m)|"
     r"dew_?p|taupunkt|temp.*(max|min)$|point_de_rosee", "air temperature"),
    (r"temp|tmp(_|$)", "temperature"),
    (r"(air|baro|atmos|luft|sea_level|station).*(press|druck)|barom|slp|mslp|luftdruck",
     "air pressure"),
    (r"press|druck(_|$)", "pressure"),
    (r"batt.*(level|pct|percent|soc|charge)|(^|_)soc($|_)|state_of_charge", "share"),
    (r"volt|batt|spannung|akku", "voltage"),
    (r"noise|sound|schall|laerm|spl($|_)", "sound level"),
    (r"salin", "salinity"),
    (r"(^|_)ph($|_)", "acidity"),
    (r"(nitrogen|sul(ph|f)ur|carbon)_(di|mon)?oxide|nitric_oxide|stickstoff(di|mon)?oxid|"
     r"schwefeldioxid|feinstaub", "concentration"),
    *TOWERS,
    (r"(^|_)(pct|percent|prozent|percentage)$", "share"),
    (r"(^|_)(power|leistung|puissance)($|_)", "power"),
)  # fmt: skip
PATTERNS = tuple((re.compile(pattern), what) for pattern, what in INSIDE)
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "o", "å": "a"})
BRACKETS = re.compile(r"\s*[\[(]([^\[\]()]*)[\])]\s*$")
HUMP = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])")


def words(name: str) -> list[str]:
    """The words of a column's name, small, without accents, units in brackets left out.

    Examples
    --------
    >>> words("PM2.5"), words("airTemp_C"), words("Température (°C)"), words("Bö max")
    (['pm25'], ['air', 'temp', 'c'], ['temperature'], ['boe', 'max'])
    """
    bare = re.sub(r"(?<=\d)[.,](?=\d)", "", BRACKETS.sub("", name.strip()))
    bare = HUMP.sub("_", bare).casefold().translate(UMLAUTS)
    plain = unicodedata.normalize("NFKD", bare).encode("ascii", "ignore").decode()
    return [word for word in re.split(r"[^a-z0-9%]+", plain) if word]


def measure(parts: list[str]) -> str:
    """What a name means, "" if it is not known.

    Examples
    --------
    >>> measure(["windrichtung"]), measure(["rr1"]), measure(["x1"])
    ('wind direction', 'rain', '')
    """
    joined = "_".join(parts)
    if joined in WHOLE:
        return WHOLE[joined]
    return next((what for pattern, what in PATTERNS if pattern.search(joined)), "")


def weak(parts: list[str]) -> bool:
    """Whether a name is so short that others may mean something else by it."""
    return len("_".join(parts)) <= 2


def unit_in_brackets(name: str) -> str:
    """The unit in brackets at the end of a name, "" if none.

    Examples
    --------
    >>> unit_in_brackets("T(K)"), unit_in_brackets("temp [°C]"), unit_in_brackets("t")
    ('K', '°C', '')
    >>> unit_in_brackets("S1(CO)")
    ''
    """
    found = BRACKETS.search(name.strip())
    return "" if found is None or is_gas(found[1]) else found[1].strip()


def is_gas(text: str) -> bool:
    """Whether brackets hold what a sensor is made for, and no unit: S1(CO), S2(NOx)."""
    return measure(words(text)) == "concentration"
