import { formatMoney } from '../../util/units.ts'
import { plainPeriods } from '../budget-period.ts'
import { type KeyReport, keyOutcomes, keyReasons, keyStates } from '../vendor-keys.ts'
import { moment, momentOrNull, text, textOrNull, textsOrNull, truth, whole, wholeOrNull } from './schemas.ts'
import { computed, viewOf } from './view.ts'

const budget = {
  type: ['object', 'null'],
  additionalProperties: false,
  required: ['amount', 'per', 'spent', 'renews'],
  properties: { amount: text, per: { type: 'string', enum: plainPeriods }, spent: text, renews: momentOrNull },
  description: 'Spending cap: the charges of requests with it; null for none.',
} as const
const resting = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['model', 'code', 'since', 'until'],
    properties: { model: text, code: textOrNull, since: moment, until: momentOrNull },
  },
  description: 'Models that the vendor refused to this key; it is not used for them.',
} as const
const lately = {
  type: 'object',
  additionalProperties: false,
  required: keyOutcomes,
  properties: Object.fromEntries(keyOutcomes.map(outcome => [outcome, whole])) as {
    readonly [outcome in (typeof keyOutcomes)[number]]: typeof whole
  },
  description: 'Outcomes of its requests in the last hour, of this process.',
} as const
const limits = {
  type: 'object',
  additionalProperties: false,
  required: ['rpm', 'tpm', 'concurrency'],
  properties: { rpm: wholeOrNull, tpm: wholeOrNull, concurrency: wholeOrNull },
} as const

const momentText = (at: number): string => new Date(at).toISOString()
const momentTextOrNull = (at: number | null): string | null => (at === null ? null : momentText(at))

/** The JSON form of an upstream's key in the API, in the status and on the command line. */
export const upstreamKeyView = viewOf<KeyReport>()({
  name: computed(text, ({ name }: KeyReport) => name),
  hint: computed(
    { ...text, description: 'The end of its secret; empty for a short one.' },
    (key: KeyReport) => key.hint,
  ),
  state: computed({ type: 'string', enum: keyStates } as const, (key: KeyReport) => key.state),
  asked: computed(
    { ...truth, description: 'It is active, has a weight, and its budget has room.' },
    (key: KeyReport) => key.isAvailable,
  ),
  reason: computed(
    { type: ['string', 'null'], enum: [...keyReasons, null], description: 'Why it is not active.' } as const,
    (key: KeyReport) => key.reason,
  ),
  code: computed({ ...textOrNull, description: 'What the vendor said.' }, (key: KeyReport) => key.code),
  note: computed({ ...textOrNull, description: 'What a person said who suspended it.' }, (key: KeyReport) => key.note),
  since: computed(momentOrNull, (key: KeyReport) => momentTextOrNull(key.since)),
  until: computed(
    { ...momentOrNull, description: 'When it is used or tested again; null if only a person decides.' },
    (key: KeyReport) => momentTextOrNull(key.until),
  ),
  weight: computed({ type: 'number', minimum: 0 } as const, (key: KeyReport) => key.weight),
  serves: computed({ ...textsOrNull, description: 'Models; null for all.' }, (key: KeyReport) => key.serves),
  limits: computed(limits, (key: KeyReport) => key.limits),
  budget: computed(budget, (key: KeyReport) =>
    key.budget === null
      ? null
      : {
          amount: formatMoney(key.budget.amount),
          per: key.budget.per,
          spent: formatMoney(key.budget.spent),
          renews: momentTextOrNull(key.budget.renews),
        },
  ),
  resting: computed(resting, (key: KeyReport) =>
    key.resting.map(({ model, code, since, until }) => ({
      model,
      code,
      since: momentText(since),
      until: momentTextOrNull(until),
    })),
  ),
  requests: computed(
    { ...whole, description: 'Requests with it since the start, of this process.' },
    (key: KeyReport) => key.requests,
  ),
  lately: computed(lately, (key: KeyReport) => key.lately),
})

export type UpstreamKeyShown = ReturnType<typeof upstreamKeyView.show>
