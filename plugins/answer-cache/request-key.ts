import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Body,
  type CachePolicy,
  callerSlot,
  type CompiledConfig,
  fitsHeaderRule,
  type JsonObjectView,
  type Model,
  type RequestContext,
  type Target,
} from '../../src/plugin-api/index.ts'
import { writeCanonical } from '../../src/wire/index.ts'

/** Numbers that a parser may round: two different ones could become equal. */
const inexactNumber = /(?:\d\.?){16}|\d[eE][+-]?\d\d/

/**
 * The key of a cached answer. `shared` leaves out the fields that need not be equal; without such fields both are
 * equal.
 */
export type RequestKey = { readonly exact: string; readonly shared: string; readonly ignored: readonly string[] }

type Request = { readonly context: RequestContext; readonly target: Target; readonly policy: CachePolicy }

/**
 * The key of everything that determines the answer: the sharing clients, the configuration of the model, method, path,
 * query, headers that are forwarded, and the fields in canonical form. All are those of the client, because the answer
 * is stored in the client's format: what a translation drops or repeats differs by that format.
 */
export async function requestKey({ context, target, policy }: Request): Promise<RequestKey> {
  const { body, dialect, head } = context.client ?? { ...context, body: target.body }
  const digests = await digestFields(body)
  const common = [
    scopeOf(context, policy),
    configDigest(context.plan, target.model),
    dialect.name,
    head.method,
    head.path,
    head.query,
    headersOf(context, target),
    // Clients read no JSON as a stream, whichever fields may differ.
    target.stream,
  ]
  const isIgnored = (name: string): boolean => policy.ignore.has(name)
  const ignored = [...new Set(digests.map(([name]) => name).filter(isIgnored))]
  const shared = digestOf([...common, digests.filter(([name]) => !isIgnored(name))])
  const exact = ignored.length === 0 ? shared : digestOf([...common, digests])
  return { exact, shared, ignored: ignored.flatMap(name => textsOf(body, name)) }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** Includes the group: different factors of groups give different prices, and a group limits its models. */
function scopeOf({ slots }: RequestContext, { per }: CachePolicy): readonly string[] {
  const { key, group } = slots.need(callerSlot)
  if (per === 'key') return [per, group.name, key.id]
  return per === 'user' ? [per, group.name, key.user] : [per, group.name]
}

/** By model, because their number in a configuration is bounded: clients choose the names that wildcards serve. */
const digests = new WeakMap<CompiledConfig, WeakMap<Model, string>>()
/** Settings that do not affect the answers of a model. */
const apart = /^(?:groups|models|webhooks|budgets|server|storage|counters|retention|sign_in|log|otlp|metrics)\b/

/** The digest of all settings that may change a model's answers, or their price. */
function configDigest(plan: CompiledConfig, model: Model): string {
  const { name, wildcard = name, family, upstreams, fallbacks = [], prices } = model
  let known = digests.get(plan)
  if (!known) digests.set(plan, (known = new WeakMap()))
  let digest = known.get(model)
  if (digest === undefined) {
    // A name that a wildcard serves has the wildcard's settings, and may have some of its own.
    const places = [name, wildcard].flatMap(one => [`models.${one}`, `models[${JSON.stringify(one)}]`])
    const settings = Object.entries(plan.settings).filter(
      ([path]) => !apart.test(path) || places.some(place => path.startsWith(place)),
    )
    // Includes a model whose settings have another name.
    const runsOn = [...upstreams, ...fallbacks].map(({ upstream, sendAs }) => [upstream.name, sendAs])
    const costs = [...prices].map(([label, { micros }]) => [label, micros])
    known.set(model, (digest = digestOf([name, family.name, runsOn, costs, settings])))
  }
  return digest
}

/** Request headers that reach the upstream, or decide the form of the answer. */
function headersOf({ head, dialect }: RequestContext, { family }: Target): readonly (readonly [string, unknown])[] {
  const { forwardHeaders: rule } = family
  const names = Object.keys(head.headers).filter(
    name => name === 'accept' || dialect.requestHeaders.includes(name) || (rule && fitsHeaderRule(rule, name)),
  )
  return names.toSorted().map(name => [name, head.headers[name]] as const)
}

/** A request may have 100,000 fields. */
const fieldsATurn = 500

type FieldDigest = readonly [name: string, ...values: readonly string[]]

async function digestFields(body: Body): Promise<readonly FieldDigest[]> {
  const fields: FieldDigest[] = []
  if (body.kind === 'json')
    for (const name of [...body.json.names()].sort()) {
      fields.push([name, await digestValue(body.json, name)])
      if (fields.length % fieldsATurn === 0) await nextTurn()
    }
  else if (body.kind === 'form')
    for (const part of body.parts)
      if (part.kind === 'text') fields.push([part.name, 'text', part.value])
      else fields.push([part.name, 'file', await part.sha256(), JSON.stringify(part.claimed ?? null)])
  return fields
}

/** Two texts have one digest only if every parser reads the same value. */
async function digestValue(json: JsonObjectView, name: string): Promise<string> {
  const raw = json.raw(name) as Buffer
  const asSent = (): string => `raw ${createHash('sha256').update(raw).digest('hex')}`
  if (inexactNumber.test(raw.toString('latin1'))) return asSent()
  const hash = createHash('sha256')
  const members = new MemberCount()
  await writeCanonical(raw, piece => {
    hash.update(piece)
    members.read(typeof piece === 'string' ? Buffer.from(piece) : piece)
  })
  const sent = new MemberCount()
  sent.read(raw)
  // For a repeated name: parsers differ over which of the two counts.
  return sent.count === members.count ? hash.digest('hex') : asSent()
}

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]

/** Counts the members of all objects of a JSON text, which may arrive in pieces. */
class MemberCount {
  count = 0
  #isInString = false
  #isEscaped = false

  read(piece: Buffer): void {
    for (const byte of piece) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === quote) this.#isInString = !this.#isInString
      else if (byte === backslash) this.#isEscaped = this.#isInString
      else if (byte === colon && !this.#isInString) this.count++
    }
  }
}

/** The texts and numbers of a field, in the form in which an answer may repeat them. */
function textsOf(body: Body, name: string): readonly string[] {
  if (body.kind === 'form')
    return body.parts.flatMap(part => (part.kind === 'text' && part.name === name ? part.value : []))
  const texts: string[] = []
  const collect = (value: unknown): void => {
    if (typeof value === 'string' || typeof value === 'number') texts.push(String(value))
    else if (Array.isArray(value)) value.forEach(collect)
    else if (typeof value === 'object' && value !== null)
      for (const [member, inner] of Object.entries(value)) {
        texts.push(member)
        collect(inner)
      }
  }
  if (body.kind === 'json') collect(body.json.get(name))
  return texts.filter(text => text !== '')
}
