import type { AnyRoute } from '../api.ts'
import type { Language } from '../pages/language.ts'
import { scopeOf } from '../scopes.ts'
import { apiWords } from './api-words.ts'
import { consoleSummaries } from './console-summaries.ts'
import type { OperationObject, ParameterObject, PathItems, SchemaObject } from './types.ts'

/** The console's endpoints, from the route table of its server. */
export function describeAdmin(routes: readonly AnyRoute[], language: Language): PathItems {
  const paths: { [path: string]: { [method: string]: OperationObject } } = {}
  for (const route of routes) {
    const path = (paths[route.url.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
    path[route.method.toLowerCase()] = describeRoute(route, language)
  }
  return paths
}

function describeRoute(route: AnyRoute, language: Language): OperationObject {
  const { method, url, access, summary, body, answer, status = 200, contentType = 'application/json' } = route
  const scope = scopeOf(route)
  const parameters = [...pathParameters(url), ...queryParameters(route.query)]
  return {
    operationId: `${method.toLowerCase()}${url.replaceAll(/[^A-Za-z0-9]+/g, '_')}`,
    summary: (language === 'zh' ? consoleSummaries[`${method} ${url}`] : undefined) ?? summary,
    tags: ['console'],
    security: access === 'anyone' ? [] : [{ session: [] }, ...(scope ? [{ adminToken: [] }] : [])],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: method !== 'DELETE', content: { 'application/json': { schema: body } } } }),
    responses: {
      [status]: {
        description: apiWords[language].answer,
        ...(status !== 204 && { content: { [contentType]: { schema: answer ?? {} } } }),
      },
      default: { $ref: '#/components/responses/console' },
    },
    'x-access': access,
    ...(scope && access !== 'anyone' && { 'x-scope': scope }),
  }
}

function pathParameters(url: string): readonly ParameterObject[] {
  return [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } }
  })
}

function queryParameters(query: SchemaObject | undefined): readonly ParameterObject[] {
  const properties = (query?.['properties'] ?? {}) as { readonly [name: string]: SchemaObject }
  const required = (query?.['required'] ?? []) as readonly string[]
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(typeof description === 'string' && { description }),
    schema,
  }))
}
