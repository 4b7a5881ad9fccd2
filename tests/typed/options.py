"""What type checkers say of options: read by `make lint`, run by nobody.

Where a wrong option is no error any more, mypy says that the remark beside it is not needed.
"""

import fieldmend as fm


def right_and_wrong() -> None:
    fm.recover("a.csv", missing=[-9999])
    fm.recover("a.csv", misssing=[-9999])  # type: ignore[call-arg]
