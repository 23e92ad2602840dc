export { type Allowed, type Ceiling, ceilingOf } from './ceiling.ts'
export { conditionText, daysOf, holds, holdsAt, listOf, parseHours, type Situation } from './conditions.ts'
export {
  type Exact,
  exactAmount,
  type Factor,
  multiply,
  parseFactor,
  partsPerMicro,
  priceQuantity,
  roundHalfUp,
  roundUp,
} from './exact.ts'
export {
  exactItem,
  flagOf,
  inputOf,
  isGoverned,
  priceListOf,
  type RatedUsage,
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
