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
  description:
    'Spending cap, and the charges of requests with this key in the current period, as decimals. Null for no cap.',
} as const
const resting = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['model', 'code', 'since', 'until'],
    properties: { model: text, code: textOrNull, since: moment, until: momentOrNull },
  },
  description: 'Models for which the key is not used at present, because the vendor refused them to it.',
} as const
const lately = {
  type: 'object',
  additionalProperties: false,
  required: keyOutcomes,
  properties: Object.fromEntries(keyOutcomes.map(outcome => [outcome, whole])) as {
    readonly [outcome in (typeof keyOutcomes)[number]]: typeof whole
  },
  description: 'Number of requests of this process with the key in the last hour, by outcome.',
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
    { ...text, description: 'Last characters of the secret. Empty for a short secret.' },
    (key: KeyReport) => key.hint,
  ),
  state: computed({ type: 'string', enum: keyStates } as const, (key: KeyReport) => key.state),
  asked: computed(
    {
      ...truth,
      description: 'Whether the key is usable: it is active, its weight is not 0, and its budget is not spent.',
    },
    (key: KeyReport) => key.isAvailable,
  ),
  reason: computed(
    {
      type: ['string', 'null'],
      enum: [...keyReasons, null],
      description: 'Reason why the key is not active. Null for an active key.',
    } as const,
    (key: KeyReport) => key.reason,
  ),
  code: computed(
    {
      ...textOrNull,
      description: 'HTTP status and error code of the vendor, such as 401 invalid_api_key. Null without a refusal.',
    },
    (key: KeyReport) => key.code,
  ),
  note: computed(
    { ...textOrNull, description: 'Reason that a person gave for the suspension. Null without one.' },
    (key: KeyReport) => key.note,
  ),
  since: computed(momentOrNull, (key: KeyReport) => momentTextOrNull(key.since)),
  until: computed(
    {
      ...momentOrNull,
      description:
        'Time when the key is used or tested again. Null for an active key, and if only a person can resume it.',
    },
    (key: KeyReport) => momentTextOrNull(key.until),
  ),
  weight: computed({ type: 'number', minimum: 0 } as const, (key: KeyReport) => key.weight),
  serves: computed(
    { ...textsOrNull, description: 'Models that the key serves. Null for all models of the upstream.' },
    (key: KeyReport) => key.serves,
  ),
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
    { ...whole, description: 'Number of requests with the key since the start of this process.' },
    (key: KeyReport) => key.requests,
  ),
  lately: computed(lately, (key: KeyReport) => key.lately),
})

export type UpstreamKeyShown = ReturnType<typeof upstreamKeyView.show>
