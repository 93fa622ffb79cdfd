"""Reports of runs: one self-contained HTML file and a Markdown one."""
