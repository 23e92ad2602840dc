import {
  explainRequest,
  Failure,
  type Json,
  listOperations,
  listPrices,
  type RequestExplanation,
  sourceLabels,
} from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import { readPlan } from '../open-books.ts'

type Options = {
  readonly model: string
  readonly size?: string
  readonly n: number
  readonly quality?: string
  readonly fields?: { readonly [name: string]: Json }
  readonly config: string
  readonly format: string
}

export async function explainImage(options: Options & { readonly edit: boolean }): Promise<void> {
  const made = options.edit ? 'edited' : 'new'
  const { name: operation = '' } = (await listOperations()).find(({ traits }) => traits.images === made) ?? {}
  await explain(options, operation)
}

/** The operation is the first that the model is offered for, by default. */
export async function explainAny(options: Options & { readonly operation?: string }): Promise<void> {
  await explain(options, options.operation)
}

async function explain(options: Options, told: string | undefined): Promise<void> {
  const plan = await readPlan(options.config)
  const operation = told ?? (await listPrices(plan)).models.find(({ name }) => name === options.model)?.operations[0]
  const request = {
    model: options.model,
    operation: operation ?? '',
    size: options.size,
    quality: options.quality,
    n: options.n,
    ...(options.fields && { fields: options.fields }),
  }
  const explanation = await explainRequest(plan, request).catch(refuse)
  print(options.format === 'json' ? JSON.stringify(explanation) : describe(explanation))
}

function refuse(error: unknown): never {
  if (error instanceof Failure) throw new Exit(exitCodes.failure, `${error.status} ${error.code}: ${error.message}`)
  throw error
}

type Quoted = NonNullable<RequestExplanation['quote']>

function describeBeside({ name, per, price, price_at, once }: NonNullable<Quoted['beside']>[number]): string {
  const measure = per === 'token' ? 'million tokens' : per === 'input_image' ? 'picture sent' : per
  return `beside     ${name}: ${price} per ${measure}, ${once ? 'once' : 'for each image'} (${price_at})`
}

function describe(found: RequestExplanation): string {
  const sent = Object.entries(found.sent).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const lines = [
    `request    ${found.route ?? found.operation}, model ${found.model} of family ${found.family}, to upstream ${found.upstream}`,
    `forwarded  ${found.forwarded.join(' ') || '-'}`,
    `dropped    ${found.dropped.join(' ') || '-'}`,
    `sent       ${sent.join('  ')}`,
    `comes back ${found.expected_size ?? 'what the upstream decides'}`,
  ]
  const { quote } = found
  if (quote) {
    const source =
      quote.source === null ? '' : `, ${sourceLabels[quote.source as keyof typeof sourceLabels]} (${quote.source})`
    const rows = Object.entries(quote.prices)
    lines.push(
      quote.tier === null
        ? rows.length === 0
          ? 'price      by what is used'
          : `price      by what comes back: ${rows
              .map(([tier, price]) => `${tier} ${price}`)
              .join(', ')} ${quote.currency} each`
        : `price      ${quote.tier}${source}: ${quote.price} ${quote.currency} each (${quote.price_at})`,
      ...(quote.beside ?? []).map(describeBeside),
      quote.expected === null
        ? `bill       at most ${quote.at_most} ${quote.currency} for ${quote.n}`
        : `bill       ${quote.n} × ${quote.price}${quote.beside ? ' and what is beside it' : ''} = ${quote.expected} ${quote.currency} expected, at most ${quote.at_most}${quote.source === null ? '' : '; no group multiplier applies'}`,
    )
  }
  lines.push(...found.warnings.map(warning => `note       ${warning}`))
  return lines.join('\n')
}
