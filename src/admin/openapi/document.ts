import type { CompiledConfig } from '../../domain/index.ts'
import { billView } from '../../domain/billing-record.ts'
import type { AnyRoute } from '../api.ts'
import type { Language } from '../pages/language.ts'
import { describeAdmin } from './admin-paths.ts'
import { type ApiWords, apiWords } from './api-words.ts'
import { errorShapes } from './errors.ts'
import { describeGateway } from './gateway-paths.ts'
import type { ApiDocument } from './types.ts'

export type ApiFacts = {
  readonly plan: CompiledConfig
  /** The routes of the console. */
  readonly routes: readonly AnyRoute[]
  readonly version: string
  /** Scheme and host at which clients reach the gateway. */
  readonly baseUrl: string
  readonly language: Language
}

/** The response of `GET /v1/charges/{id}`. Amounts are decimal strings; members may be added. */
const { additionalProperties: _, ...chargeSchema } = billView.schema

/**
 * The whole HTTP interface as an OpenAPI 3.1 document: the gateway's endpoints from its plan, and the console's from
 * its routes.
 */
export function describeApi(facts: ApiFacts): ApiDocument {
  const { routes, version, baseUrl, language } = facts
  const words = apiWords[language]
  return {
    openapi: '3.1.1',
    info: { title: words.title, version, description: words.description },
    servers: [{ url: baseUrl }],
    tags: Object.entries(words.tags).map(([name, description]) => ({ name, description })),
    paths: { ...describeGateway(facts), ...describeAdmin(routes, language) },
    components: {
      securitySchemes: securitySchemes(words),
      headers: headers(words),
      schemas: { Charge: chargeSchema },
      responses: errorResponses(words),
    },
  }
}

function securitySchemes({ keyed, schemes }: ApiWords) {
  return {
    bearer: { type: 'http', scheme: 'bearer', description: keyed(schemes.bearer) },
    xApiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: keyed(schemes.xApiKey) },
    xiApiKey: { type: 'apiKey', in: 'header', name: 'xi-api-key', description: keyed(schemes.xiApiKey) },
    googHeader: { type: 'apiKey', in: 'header', name: 'x-goog-api-key', description: keyed(schemes.googHeader) },
    googQuery: { type: 'apiKey', in: 'query', name: 'key', description: keyed(schemes.googQuery) },
    adminToken: { type: 'http', scheme: 'bearer', description: schemes.adminToken },
    session: { type: 'apiKey', in: 'cookie', name: 'tollgate', description: schemes.session },
  }
}

function headers({ requestId, retryAfter, retryAfterMs, shouldRetry, limitHeader }: ApiWords) {
  const whole = { type: 'integer', minimum: 0 }
  const text = { type: 'string' }
  return {
    'x-request-id': { description: requestId, schema: text },
    'retry-after': { description: retryAfter, schema: whole },
    'retry-after-ms': { description: retryAfterMs, schema: whole },
    'x-should-retry': { description: shouldRetry, schema: { enum: ['true', 'false'] } },
    limit: { description: limitHeader, schema: text },
  }
}

/** One response for each style and status, and one for the console. */
function errorResponses({ errors }: ApiWords) {
  const requestId = { 'x-request-id': { $ref: '#/components/headers/x-request-id' } }
  const again = Object.fromEntries(
    ['retry-after', 'retry-after-ms', 'x-should-retry'].map(name => [name, { $ref: `#/components/headers/${name}` }]),
  )
  const { console, ...styles } = errorShapes
  const ofStyles = Object.entries(styles).flatMap(([style, schema]) =>
    Object.entries(errors).map(([status, description]) => {
      const headers = status === '429' || status === '503' ? { ...requestId, ...again } : requestId
      return [`${style}-${status}`, { description, headers, content: { 'application/json': { schema } } }] as const
    }),
  )
  return {
    ...Object.fromEntries(ofStyles),
    console: { description: errors[400], headers: requestId, content: { 'application/json': { schema: console } } },
  }
}
