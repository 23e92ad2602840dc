import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import {
  explainRequest,
  type CompiledConfig,
  Failure,
  type Group,
  type Json,
  listOperations,
  listPrices,
  type RequestExplanation,
  sourceLabels,
} from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import { readStoragePlan } from '../with-storage.ts'
import { parseFields } from '../parse-fields.ts'

type Options = {
  readonly model: string
  readonly size?: string
  readonly n: number
  readonly quality?: string
  readonly group?: string
  readonly fields?: { readonly [name: string]: Json }
  readonly config: string
  readonly format: string
}

export async function explainImage(options: Options & { readonly edit: boolean }): Promise<void> {
  const made = options.edit ? 'edited' : 'new'
  const { name: operation = '' } = (await listOperations()).find(({ traits }) => traits.images === made) ?? {}
  await explain(options, operation)
}

type ChatOptions = {
  readonly model: string
  readonly message: string
  readonly maxTokens?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly group?: string
  readonly operation?: string
  readonly fields?: { readonly [name: string]: Json }
  /** A file with the body of a request; `-` is standard input. */
  readonly body?: string
  readonly config: string
  readonly format: string
}

function askChat(content: string, most: number | undefined): { readonly [name: string]: Json } {
  return { messages: [{ role: 'user', content }], ...(most !== undefined && { max_tokens: most }) }
}

/** Prints the hold for a conversation, and its cost for the given numbers of input and output tokens. */
export async function explainChat(options: ChatOptions): Promise<void> {
  const plan = await readStoragePlan(options.config)
  const { group, message, maxTokens, inputTokens, outputTokens } = options
  const { multiplier, aliases } = groupOf(plan, group, options.model)
  const known = new Map((await listOperations()).map(one => [one.name, one]))
  const offered = await operationsOf(plan, aliases?.get(options.model) ?? options.model)
  const operation = options.operation ?? offered.find(name => known.get(name)?.traits.images === undefined)
  if (offered.length > 0 && operation === undefined)
    throw new Exit(
      exitCodes.usage,
      `${options.model} only makes images; use tollgate explain image --model ${options.model}`,
    )
  const uses = {
    ...(inputTokens !== undefined && { input: inputTokens }),
    ...(outputTokens !== undefined && { output: outputTokens }),
  }
  const explanation = await explainRequest(plan, {
    model: options.model,
    operation: operation ?? '',
    size: undefined,
    quality: undefined,
    n: undefined,
    fields: {
      ...(options.body === undefined
        ? (known.get(operation ?? '')?.question ?? askChat)(message, maxTokens)
        : await readBody(options.body)),
      ...options.fields,
    },
    ...(Object.keys(uses).length > 0 && { uses }),
    ...(multiplier !== undefined && { multiplier }),
    aliases,
  }).catch(refuse)
  print(options.format === 'json' ? JSON.stringify(explanation) : describe(explanation))
}

/**
 * Reads the body of a request, without its model. @throws Exit 2 for a file that cannot be read, or is no JSON object
 */
async function readBody(file: string): Promise<{ readonly [name: string]: Json }> {
  try {
    const { model: _model, ...fields } = parseFields(
      file === '-' ? await text(process.stdin) : await readFile(file, 'utf8'),
    )
    return fields
  } catch (error) {
    throw new Exit(exitCodes.usage, `--body ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Explains an operation; by default the first one of the model. */
export async function explainAny(options: Options & { readonly operation?: string }): Promise<void> {
  await explain(options, options.operation)
}

async function explain(options: Options, given: string | undefined): Promise<void> {
  const plan = await readStoragePlan(options.config)
  const { multiplier, aliases } = groupOf(plan, options.group, options.model)
  const operation = given ?? (await operationsOf(plan, aliases?.get(options.model) ?? options.model))[0]
  const request = {
    model: options.model,
    operation: operation ?? '',
    size: options.size,
    quality: options.quality,
    n: options.n,
    ...(options.fields && { fields: options.fields }),
    ...(multiplier !== undefined && { multiplier }),
    aliases,
  }
  const explanation = await explainRequest(plan, request).catch(refuse)
  print(options.format === 'json' ? JSON.stringify(explanation) : describe(explanation))
}

type Caller = { readonly multiplier?: string; readonly aliases: Group['aliases'] }

/**
 * The caller's properties: those of the group, or without a group the model aliases that all groups share.
 * @throws Exit 2 for an unknown group, or an alias that groups give to different models
 */
function groupOf({ groups, models }: CompiledConfig, name: string | undefined, model: string): Caller {
  if (name !== undefined) {
    const group = groups.get(name)
    if (group) return { multiplier: group.multiplier, aliases: group.aliases }
    throw new Exit(exitCodes.usage, `--group ${name}: the configuration has ${[...groups.keys()].join(', ')}`)
  }
  if (models.get(model)) return { aliases: undefined }
  const meant = [...groups.values()].flatMap(group => {
    const of = group.aliases?.get(model)
    return of === undefined ? [] : [{ group: group.name, of }]
  })
  const [first] = meant
  if (new Set(meant.map(({ of }) => of)).size > 1) {
    const all = meant.map(({ group, of }) => `${of} in group ${group}`).join(', ')
    throw new Exit(exitCodes.usage, `${model} is an alias of ${all}: choose one with --group`)
  }
  return { aliases: first && new Map([[model, first.of]]) }
}

/** The operations of a model; for a model that a wildcard serves, those of the wildcard. */
async function operationsOf(plan: CompiledConfig, model: string): Promise<readonly string[]> {
  const name = plan.models.get(model)?.wildcard ?? model
  return (await listPrices(plan)).models.find(one => one.name === name)?.operations ?? []
}

function refuse(error: unknown): never {
  if (error instanceof Failure) throw new Exit(exitCodes.failure, `${error.status} ${error.code}: ${error.message}`)
  throw error
}

type Quoted = NonNullable<RequestExplanation['quote']>

function describeExtraLine({ name, per, price, price_at, once }: NonNullable<Quoted['beside']>[number]): string {
  const measure = per === 'token' ? 'million tokens' : per === 'input_image' ? 'input image' : per
  return `plus       ${name}: ${price} per ${measure}, ${once ? 'once' : 'for each image'} (${price_at})`
}

const describeUnit =
  (currency: string) =>
  ({ unit, price, per, price_at, times, quantity, amount }: NonNullable<Quoted['units']>[number]): string => {
    const factors = times.map(by => ` × ${by}`).join('')
    const cost = quantity === null ? '' : `: ${quantity} cost ${amount} ${currency}`
    return `unit       ${unit} at ${price} for ${per === 1 ? 'one' : per.toLocaleString('en')}${factors} (${price_at})${cost}`
  }

function describeRetry({ on, attempts, if_sold }: NonNullable<RequestExplanation['retry']>): string {
  const unless = if_sold ? '' : ', if it was certainly not sold'
  return `retry      after ${on.join(', ')}${unless}; at most ${attempts} requests`
}

function describeFallback(one: NonNullable<RequestExplanation['fallbacks']>[number]): string {
  if ('refused' in one) return `fallback   ${one.model} does not get it: ${one.refused}`
  const lost = one.dropped.length > 0 ? `; dropped: ${one.dropped.join(' ')}` : ''
  const cost = one.at_most === null ? 'free' : `at most ${one.at_most}`
  return `fallback   ${one.model} at ${one.upstream} as ${one.operation}, ${cost}${lost}`
}

function describeCache({
  for_ms,
  per,
  keys,
  each,
  times,
  price_at,
  expected,
}: NonNullable<RequestExplanation['cache']>) {
  const prices = [
    ...(Number(each) === 0 ? [] : [each]),
    ...(Number(times) === 0 ? [] : [`${times} × the price of the response`]),
  ]
  const sum = expected === null || Number(times) === 0 ? '' : ` = ${expected} expected`
  const price = prices.length === 0 ? 'a hit is free' : `a hit costs ${prices.join(' + ')}${sum}`
  const who = keys === 'all' ? '' : ', for keys that opted in'
  return `cache      responses are cached for ${describeMs(for_ms)} per ${per}${who}; ${price} (${price_at})`
}

/** Formats milliseconds in the largest unit that divides them: `90m`, `7d`. */
function describeMs(ms: number): string {
  const [unit, size] = units.find(([, one]) => ms % one === 0) ?? ['ms', 1]
  return `${ms / size}${unit}`
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

function describe(found: RequestExplanation): string {
  const sent = Object.entries(found.sent).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const lines = [
    ...(found.alias === null ? [] : [`alias      ${found.alias} means ${found.model}`]),
    `request    ${found.route ?? found.operation}, model ${found.model} of family ${found.family}, to upstream ${found.upstream}`,
    `forwarded  ${found.forwarded.join(' ') || '-'}`,
    `dropped    ${found.dropped.join(' ') || '-'}`,
    `sent       ${sent.join('  ')}`,
    `returned   ${found.expected_size ?? 'decided by the upstream'}`,
  ]
  if (found.cache) lines.push(describeCache(found.cache))
  if (found.retry) lines.push(describeRetry(found.retry))
  lines.push(...(found.fallbacks ?? []).map(describeFallback))
  const { quote } = found
  if (quote) {
    const source =
      quote.source === null ? '' : `, ${sourceLabels[quote.source as keyof typeof sourceLabels]} (${quote.source})`
    const rows = Object.entries(quote.prices)
    lines.push(
      quote.tier === null
        ? rows.length === 0
          ? 'price      by usage'
          : `price      by the returned image: ${rows
              .map(([tier, price]) => `${tier} ${price}`)
              .join(', ')} ${quote.currency} each`
        : `price      ${quote.tier}${source}: ${quote.price} ${quote.currency} each (${quote.price_at})`,
      ...(quote.units ?? []).map(describeUnit(quote.currency)),
      ...(quote.beside ?? []).map(describeExtraLine),
      quote.units && quote.expected !== null
        ? `bill       ${quote.expected} ${quote.currency}; hold ${quote.at_most} before the call`
        : quote.expected === null
          ? `bill       at most ${quote.at_most} ${quote.currency} for ${quote.n}`
          : `bill       ${quote.n} × ${quote.price}${quote.beside ? ' plus the items above' : ''} = ${quote.expected} ${quote.currency} expected, at most ${quote.at_most}${quote.source === null ? '' : '; no group multiplier applies'}`,
    )
  }
  lines.push(...found.warnings.map(warning => `note       ${warning}`))
  return lines.join('\n')
}
