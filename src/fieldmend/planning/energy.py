"""Messages as energy: time on air by the radios' own formulas, and what a sleeping node takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from fieldmend.errors import InputError
from fieldmend.text import shown

DAY_S = 86_400.0
LORA = {f"lora-sf{sf}": sf for sf in range(7, 13)}
RADIOS = (*LORA, "802.15.4")
WAN_BYTES = 13  # of LoRaWAN around the payload: header, address, counter, port, signature
LORA_MW = 145.0  # 44 mA at 3.3 V, sending at 14 dBm
LORA_WINDOWS_MJ = 2.2  # two receive windows of 30 ms at 11 mA
ZIGBEE_BYTES = 6 + 11 + 2  # preamble and length, addresses, checksum
ZIGBEE_MW = 54.0  # 18 mA at 3 V, sending or listening
ZIGBEE_AWAKE_MS = 5.0  # starting, looking for a free channel, waiting for the acknowledgement
RADIO_MATTERS = 0.5  # of a day's energy: below, it is no longer the radio that drains the battery


@dataclass(frozen=True)
class Energy:
    """What a message, a measurement and a day's sleep take.

    Attributes
    ----------
    mj_per_message
        Millijoules.
    sleep_ua
        Microamperes of a node between its messages.
    mj_per_reading
        Millijoules of a measurement.
    volts
        Of the battery.
    source
        Where the energy of a message is from, in words.

    Examples
    --------
    >>> Energy(54.0, sleep_ua=10.0).a_day(288, 288)
    18.144
    """

    mj_per_message: float
    sleep_ua: float = 10.0
    mj_per_reading: float = 0.0
    volts: float = 3.0
    source: str = "as given"

    def __post_init__(self) -> None:
        for name in ("mj_per_message", "sleep_ua", "mj_per_reading", "volts"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise InputError(
                    f"{name} {shown(value)} is no amount", hint="Give a number from 0 on"
                )

    def a_day(self, messages: float, readings: float) -> float:
        """Joules of a node that sends so many messages a day and measures so often."""
        work = (messages * self.mj_per_message + readings * self.mj_per_reading) / 1000
        return round(work + self.asleep, 6)

    @property
    def asleep(self) -> float:
        """Joules of a day's sleep."""
        return self.sleep_ua * 1e-6 * self.volts * DAY_S

    def radio_share(self, messages: float, readings: float) -> float:
        """Of a day's energy, what messages take."""
        total = self.a_day(messages, readings)
        return messages * self.mj_per_message / 1000 / total if total else 0.0


def of_radio(radio: str, payload: int) -> tuple[float, str]:
    """Millijoules of a message with so many bytes, and where that is from.

    Parameters
    ----------
    radio
        ``lora-sf7`` to ``lora-sf12`` (LoRaWAN, 125 kHz, 14 dBm), or ``802.15.4``.
    payload
        Bytes of the user's own.

    Returns
    -------
    millijoules, words

    Raises
    ------
    InputError
        For another radio, and for what fits into no message.

    Examples
    --------
    >>> of_radio("lora-sf9", 12)[0], of_radio("802.15.4", 12)[0]
    (32.0, 0.324)
    """
    if radio not in RADIOS:
        raise InputError(f"no radio {shown(radio)!r}", hint="One of " + ", ".join(RADIOS))
    most = 114 if radio == "802.15.4" else 242
    if not 1 <= payload <= most:
        raise InputError(f"payload of {shown(payload)} bytes", hint=f"1 to {most} for {radio}")
    if radio == "802.15.4":
        air = (ZIGBEE_BYTES + payload) * 8 / 250
        spent = (air + ZIGBEE_AWAKE_MS) * ZIGBEE_MW / 1000
        said = f"802.15.4, {payload} bytes: {air:.2f} ms on air, {ZIGBEE_AWAKE_MS:g} ms awake"
    else:
        air = airtime_ms(LORA[radio], payload + WAN_BYTES)
        spent = air * LORA_MW / 1000 + LORA_WINDOWS_MJ
        said = f"LoRa SF{LORA[radio]}, {payload} bytes: {air:.0f} ms on air at 14 dBm"
    return float(f"{spent:.3g}"), said


def airtime_ms(spreading: int, size: int, bandwidth: float = 125.0, coding: int = 1) -> float:
    """Time on air of a LoRa packet by the formula of Semtech's data sheets (SX1276, 4.1.1.7).

    Eight symbols of preamble, a header, a checksum; coding 1 is 4/5; bandwidth in kHz. Long symbols
    (over 16 ms) are sent with the low data rate optimisation.

    Examples
    --------
    >>> round(airtime_ms(7, 13 + 12), 1), round(airtime_ms(12, 13 + 12))
    (61.7, 1483)
    """
    symbol = 2**spreading / bandwidth
    slow = 1 if symbol > 16.0 else 0
    bits = 8 * size - 4 * spreading + 28 + 16
    blocks = max(ceil(bits / (4 * (spreading - 2 * slow))), 0)
    return float(symbol) * (8 + 4.25 + 8 + blocks * (coding + 4))
