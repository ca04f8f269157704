"""The page of backtests."""
