"""What a mosquitto should be told, so that it loses as little as it can."""

CONFIGURATION = """\
# mosquitto for fieldmend live (fieldmend live --print-mosquitto-conf).
# Sessions and messages survive a restart. A crash still loses what was acknowledged since the last
# save (about a second under traffic; eclipse/mosquitto#1855): where that matters, let gateways
# POST to fieldmend live, whose 200 means that the readings are on the disk.
listener 1883 127.0.0.1
allow_anonymous true            # on this machine only; give others password_file and TLS

persistence true
persistence_location {folder}
autosave_interval 1             # seconds
autosave_on_changes false

max_queued_messages 0           # no limit: a subscriber that is away finds everything again
max_queued_bytes 0
max_inflight_messages 1000      # sent ahead of acknowledgements: live acknowledges after its commit
max_packet_size 1048576
sys_interval 10                 # live counts $SYS/broker/publish/messages/dropped
"""


def configuration(folder: str = "/var/lib/mosquitto/") -> str:
    """The lines of a mosquitto.conf."""
    return CONFIGURATION.format(folder=folder)
