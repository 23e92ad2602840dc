import { setImmediate as nextTurn } from 'node:timers/promises'
import { Failure, type Json, type CompiledConfig } from '../../domain/index.ts'
import type { Awaitable, Schema } from '../../util/index.ts'
import { type AnyRoute, type AdminRequest, defineRoute, Reply } from '../api.ts'
import { chooseEncoding, compressOnTheWay } from '../encoding.ts'
import { notBuilt } from '../not-built.ts'
import { apiWords } from '../openapi/api-words.ts'
import { describeApi } from '../openapi/document.ts'
import { errorShapes } from '../openapi/errors.ts'
import type { ApiDocument } from '../openapi/types.ts'
import { chooseLanguage, type Language } from './language.ts'
import type { Calculated, Calculation, Pages } from './page-data.ts'
import { toPriceJson } from './price-json.ts'
import { TextCache } from './text-cache.ts'

/** A page accepts any query and ignores unknown parameters, such as tracking parameters in links. */
const query = { type: 'object', additionalProperties: true } as const satisfies Schema
/** Stricter than the console's policy: these pages load its style sheet and its logo, but run no script. */
const security =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
const html = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': security,
  vary: 'accept-language, accept-encoding',
  'cache-control': 'no-cache',
}
/** Only the reference runs a script of the gateway, which copies samples and remembers their language. */
const referenceHtml = { ...html, 'content-security-policy': `${security}; script-src 'self'` }

const json = { 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding', 'cache-control': 'no-cache' }

type Headers = { readonly [name: string]: string }
type PageRequest = AdminRequest<{ readonly [name: string]: unknown }>

/** The pages without a required script, and their data. The reference describes `api`. */
export function pageRoutes(api: readonly AnyRoute[]): readonly AnyRoute[] {
  const cache = new TextCache()
  const pricesRoute = defineRoute({
    method: 'GET',
    url: '/api/pricing',
    access: 'anyone',
    summary: 'Get the price list: per tier, per unit, and for common sizes.',
    handle: (request: PageRequest) =>
      sendKept(request, json, 'prices', async plan => JSON.stringify(toPriceJson(await request.parts.prices(plan)))),
  })
  const routes = [...api, pricesRoute]

  function describe(request: PageRequest, plan: CompiledConfig, language: Language): ApiDocument {
    return describeApi({ plan, routes, version: request.parts.facts.version, baseUrl: baseUrl(request), language })
  }

  async function sendKept(
    request: PageRequest,
    headers: Headers,
    name: string,
    make: (plan: CompiledConfig) => Awaitable<string>,
  ): Promise<Reply> {
    const plan = request.parts.plan()
    const { plain, zipped, etag } = await cache.take(plan, name, () => make(plan))
    const tagged = { ...headers, etag }
    if (isKnown(String(request.headers['if-none-match']), etag)) return new Reply(304, tagged)
    if (!chooseEncoding(request.headers['accept-encoding'], ['gzip'])) return new Reply(200, tagged, plain)
    return new Reply(200, { ...tagged, 'content-encoding': 'gzip' }, zipped)
  }

  return [
    pricesRoute,
    defineRoute({
      method: 'GET',
      url: '/pricing',
      access: 'anyone',
      summary: 'The pricing page.',
      contentType: 'text/html',
      query,
      async handle(request: PageRequest) {
        const pages = await request.parts.pages()
        if (!pages) return notBuilt()
        const language = languageOf(request)
        const render = async (plan: CompiledConfig, calculation?: PricingCalculation) =>
          pages.renderPricing({ language, list: await request.parts.prices(plan), calculation }, nextTurn)
        const calculation = await readCalculation(request)
        if (!calculation) return sendKept(request, html, `pricing ${language}`, plan => render(plan))
        const result = calculate(request, calculation)
        return sendOnce(request, html, await render(request.parts.plan(), { request: calculation, result }))
      },
    }),
    defineRoute({
      method: 'GET',
      url: '/docs',
      access: 'anyone',
      summary: 'The API reference page.',
      contentType: 'text/html',
      query,
      async handle(request: PageRequest) {
        const pages = await request.parts.pages()
        if (!pages) return notBuilt()
        const language = languageOf(request)
        return sendKept(request, referenceHtml, `docs ${language} ${baseUrl(request)}`, async plan =>
          pages.renderDocs({
            language,
            api: describe(request, plan, language),
            list: await request.parts.prices(plan),
            families: [...plan.families.values()].map(({ name, notes }) => ({ name, notes })),
            errors: apiWords[language].errors,
            errorShapes,
            baseUrl: baseUrl(request),
          }),
        )
      },
    }),
    defineRoute({
      method: 'GET',
      url: '/openapi.json',
      access: 'anyone',
      summary: 'This document.',
      query,
      handle(request: PageRequest) {
        // For programs, the default language is English.
        const language = chooseLanguage(request.query['lang'], undefined)
        const name = `openapi ${language} ${baseUrl(request)}`
        return sendKept(request, json, name, plan => JSON.stringify(describe(request, plan, language)))
      },
    }),
  ]
}

async function sendOnce({ headers: received }: PageRequest, headers: Headers, text: string): Promise<Reply> {
  const zipped = chooseEncoding(received['accept-encoding'], ['gzip']) && (await compressOnTheWay(text))
  return zipped ? new Reply(200, { ...headers, 'content-encoding': 'gzip' }, zipped) : new Reply(200, headers, text)
}

function baseUrl({ scheme, host }: PageRequest): string {
  return `${scheme}://${host}`
}

function languageOf({ query, headers }: PageRequest): Language {
  return chooseLanguage(query['lang'], headers['accept-language'])
}

type PricingCalculation = NonNullable<Parameters<Pages['renderPricing']>[0]['calculation']>

async function readCalculation({ query, parts }: PageRequest): Promise<Calculation | undefined> {
  const text = (name: string, otherwise: string): string => {
    const value = query[name]
    return typeof value === 'string' ? value.slice(0, 200) : otherwise
  }
  if (typeof query['model'] !== 'string') return undefined
  const sizes = (await parts.prices(parts.plan())).models.flatMap(({ images }) => images?.sizes ?? [])
  const operation = text('operation', sizes[0]?.operation ?? '')
  return {
    model: text('model', ''),
    operation,
    size: text('size', '').trim(),
    n: text('n', '1'),
    fields: readFields(query),
  }
}

const fieldPrefix = 'field.'
const fieldsMax = 16

/** Fields that prices depend on, by their names in the form: `field.quality`. A dot in a name leads to a member. */
function readFields(query: PageRequest['query']): Calculation['fields'] {
  const given = Object.entries(query).flatMap(([name, value]): readonly (readonly [string, string])[] => {
    const field = name.slice(fieldPrefix.length)
    const isGiven = name.startsWith(fieldPrefix) && field !== '' && typeof value === 'string' && value !== ''
    return isGiven ? [[field, value.slice(0, 200)]] : []
  })
  return Object.fromEntries(given.slice(0, fieldsMax))
}

type Tree = Map<string, Tree | string>

/** A body with a member at each path. If a path has two values, the later one counts. */
function nest(fields: Calculation['fields']): { readonly [name: string]: Json } {
  const body: Tree = new Map()
  for (const [path, value] of Object.entries(fields)) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let at = body
    for (const name of names) {
      const inner = at.get(name)
      const next: Tree = inner instanceof Map ? inner : new Map<string, Tree | string>()
      at.set(name, next)
      at = next
    }
    at.set(last, value)
  }
  return toJson(body)
}

function toJson(tree: Tree): { readonly [name: string]: Json } {
  return Object.fromEntries([...tree].map(([name, value]) => [name, value instanceof Map ? toJson(value) : value]))
}

function calculate({ parts }: PageRequest, { model, operation, size, n, fields }: Calculation): Calculated {
  if (!/^[1-9]\d{0,8}$/.test(n)) return { kind: 'wrong_count' }
  const request = {
    model,
    operation,
    size: size === '' ? undefined : size,
    quality: undefined,
    n: Number(n),
    fields: nest(fields),
  }
  try {
    return { kind: 'explained', explained: parts.explain(parts.plan(), request) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { kind: 'refused', message: error.message }
  }
}

/** Whether the client's copy, by its `known` validators, is current (RFC 9110 13.1.2). */
function isKnown(known: string, etag: string): boolean {
  return known.trim() === '*' || known.split(',').some(one => opaque(one.trim()) === opaque(etag))
}

function opaque(etag: string): string {
  return etag.replace(/^W\//, '')
}
