import type { Plan, Schema } from '../../kit/index.ts'
import { operations } from '../../operations/index.ts'
import { type AnyRoute, type Ask, defineRoute, Reply } from '../api.ts'
import { describeApi } from '../openapi/document.ts'
import type { ApiDocument } from '../openapi/types.ts'
import { renderDocs } from './docs.ts'
import { chooseLanguage, type Language } from './language.ts'
import { toPriceJson } from './price-json.ts'
import { type Calculation, renderPricing } from './pricing.ts'
import { Shelf } from './shelf.ts'
import { pagesCss } from './style.ts'

/** A page takes any query: what it cannot use, such as the marks of those who link to it, it does not read. */
const query = { type: 'object', additionalProperties: true } as const satisfies Schema
/** Stricter than the console's: these pages run nothing and load their stylesheet alone. */
const security =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
const html = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': security,
  vary: 'accept-language, accept-encoding',
  'cache-control': 'no-cache',
}

const json = { 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding', 'cache-control': 'no-cache' }

type Headers = { readonly [name: string]: string }
type PageAsk = Ask<{ readonly [name: string]: unknown }>

/** The pages that are rendered here and need no script, with what they are made of. `api` is described in the reference. */
export function pageRoutes(api: readonly AnyRoute[]): readonly AnyRoute[] {
  const pricesRoute = defineRoute({
    method: 'GET',
    url: '/api/pricing',
    access: 'anyone',
    summary: 'The price list: per tier, per unit, and for sizes often asked for.',
    handle: ({ parts }) => toPriceJson(parts.prices(parts.plan())),
  })
  const routes = [...api, pricesRoute]
  const shelf = new Shelf()

  function describe(ask: PageAsk, plan: Plan, language: Language): ApiDocument {
    return describeApi({ plan, routes, version: ask.parts.facts.version, baseUrl: baseUrl(ask), language })
  }

  function sendKept(
    ask: PageAsk,
    headers: Headers,
    name: string,
    make: (plan: Plan, baseUrl: string) => string,
  ): Reply {
    const plan = ask.parts.plan()
    const base = baseUrl(ask)
    const { plain, zipped } = shelf.take(plan, `${name} ${base}`, () => make(plan, base))
    const zips = /\bgzip\b/.test(String(ask.headers['accept-encoding']))
    if (!zips) return new Reply(200, headers, plain)
    return new Reply(200, { ...headers, 'content-encoding': 'gzip' }, zipped)
  }

  return [
    pricesRoute,
    defineRoute({
      method: 'GET',
      url: '/pricing',
      access: 'anyone',
      summary: 'The page of prices.',
      contentType: 'text/html',
      query,
      handle(ask: PageAsk) {
        const plan = ask.parts.plan()
        return new Reply(
          200,
          html,
          renderPricing({
            language: languageOf(ask),
            list: ask.parts.prices(plan),
            calculation: readCalculation(ask.query),
            explain: request => ask.parts.explain(plan, request),
          }),
        )
      },
    }),
    defineRoute({
      method: 'GET',
      url: '/docs',
      access: 'anyone',
      summary: 'The reference for people.',
      contentType: 'text/html',
      query,
      handle(ask: PageAsk) {
        const language = languageOf(ask)
        return sendKept(ask, html, `docs ${language}`, (plan, baseUrl) => {
          const api = describe(ask, plan, language)
          return renderDocs({ language, api, plan, list: ask.parts.prices(plan), baseUrl })
        })
      },
    }),
    defineRoute({
      method: 'GET',
      url: '/openapi.json',
      access: 'anyone',
      summary: 'This document.',
      query,
      handle(ask: PageAsk) {
        // For programs: it is in another language than English only where that was asked for.
        const language = chooseLanguage(ask.query['lang'], undefined)
        return sendKept(ask, json, `openapi ${language}`, plan => JSON.stringify(describe(ask, plan, language)))
      },
    }),
    defineRoute({
      method: 'GET',
      url: '/pages.css',
      access: 'anyone',
      summary: 'The stylesheet of the pages.',
      contentType: 'text/css',
      query,
      handle: () =>
        new Reply(200, { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'no-cache' }, pagesCss),
    }),
  ]
}

function baseUrl({ scheme, host }: PageAsk): string {
  return `${scheme}://${host}`
}

function languageOf({ query, headers }: PageAsk): Language {
  return chooseLanguage(query['lang'], headers['accept-language'])
}

/** What is calculated where the address does not say. */
const firstChoice = operations.find(({ words }) => words.en.choice !== undefined)?.name ?? ''

function readCalculation(query: PageAsk['query']): Calculation | undefined {
  const text = (name: string, otherwise: string): string => {
    const value = query[name]
    return typeof value === 'string' ? value.slice(0, 200) : otherwise
  }
  if (typeof query['model'] !== 'string') return undefined
  const operation = text('operation', firstChoice)
  return { model: text('model', ''), operation, size: text('size', '').trim(), n: text('n', '1') }
}
