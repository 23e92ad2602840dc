export { type Ceiling, ceilingOf } from './ceiling.ts'
export { conditionText, daysOf, holds, listOf, parseHours, type Situation } from './conditions.ts'
export {
  type Exact,
  exactAmount,
  multiply,
  parseFactor,
  partsPerMicro,
  priceQuantity,
  roundHalfUp,
} from './exact.ts'
export {
  inputOf,
  isGoverned,
  priceListOf,
  rateGroups,
  rateUsage,
  sumOf,
  unpricedFacts,
  unpricedName,
  type UsageAsk,
  type UsageGroup,
  type Use,
  usesOf,
} from './rate-usage.ts'
export { exactLines, situationOf, situationOfLine } from './replay-usage.ts'
export { isSameWord } from './same-word.ts'
