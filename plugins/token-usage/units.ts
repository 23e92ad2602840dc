/** What usage is priced by, and how many of it a price in the configuration is for. */
export const unitPer: ReadonlyMap<string, number> = new Map([
  ['input', 1_000_000],
  ['cached_input', 1_000_000],
  ['output', 1_000_000],
  ['character', 1_000_000],
  ['second', 1],
  ['search_unit', 1],
  ['request', 1],
])
