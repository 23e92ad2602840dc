// Fields that several endpoints take or answer with. Every object refuses fields that it does not name: nobody sets a role
// or a balance by sending one.

export const text = { type: 'string' } as const
export const textOrNull = { type: ['string', 'null'] } as const
export const whole = { type: 'integer', minimum: 0 } as const
export const wholeOrNull = { type: ['integer', 'null'] } as const
export const truth = { type: 'boolean' } as const
/** ISO 8601 with a zone. */
export const moment = { type: 'string', format: 'date-time' } as const
export const momentOrNull = { type: ['string', 'null'], format: 'date-time' } as const
export const texts = { type: 'array', items: { type: 'string' } } as const

/** What people call things: no control characters, which logs and terminals would obey. */
export const label = { type: 'string', minLength: 1, maxLength: 100, pattern: String.raw`^[^\p{Cc}\p{Cf}]+$` } as const
export const userName = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: String.raw`^[\p{L}\p{N}][\p{L}\p{N}_.@-]*$`,
} as const
export const password = { type: 'string', minLength: 12, maxLength: 128 } as const
/** What is checked against a hash; a wrong one may be of any length. */
export const passwordGuess = { type: 'string', maxLength: 1024 } as const
export const reason = { type: 'string', minLength: 3, maxLength: 500, pattern: String.raw`^[^\p{Cc}]+$` } as const
export const pageLimit = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const
export const rowId = { type: 'string', pattern: '^[a-z]+_[0-9a-z]{1,40}$' } as const

export const decimal = String.raw`^\d{1,9}(\.\d{1,6})?$`

/** What patterns want, for people. */
export const patternWords: ReadonlyMap<string, string> = new Map([
  [label.pattern, 'must have no line breaks and no invisible characters'],
  [userName.pattern, 'must begin with a letter or a digit, and go on with letters, digits, _ . @ or -'],
  [reason.pattern, 'must be one line'],
  [rowId.pattern, 'must be an id such as req_01m7z9rxtz00wap6t5eg'],
  [decimal, 'must be a decimal of at most six places, such as "12.50"'],
])

export const role = { type: 'string', enum: ['user', 'admin'] } as const
export const userStatus = { type: 'string', enum: ['active', 'disabled'] } as const

export const userAnswer = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'role', 'group', 'status', 'has_password', 'created'],
  properties: { name: text, role, group: text, status: userStatus, has_password: truth, created: moment },
} as const

export const limitsAnswer = {
  type: 'object',
  additionalProperties: false,
  properties: { rpm: whole, tpm: whole, concurrency: whole },
} as const

/** Amounts by currency. */
export const moneyList = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['currency', 'amount'],
    properties: { currency: text, amount: text },
  },
} as const
