"""The job as far as qolmat goes: lost readings filled, by robust PCA (PCP) with its defaults."""

from __future__ import annotations

from pivot import save, tables
from qolmat.imputations.imputers import ImputerRpcaPcp

for name, table in tables().items():
    heard = table.dropna(axis=1, how="all")
    save(name, ImputerRpcaPcp(random_state=0).fit_transform(heard))
