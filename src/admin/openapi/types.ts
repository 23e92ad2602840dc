import type { CodeSample } from '../../operations/index.ts'

/** The part of OpenAPI 3.1 that is used here. A schema is JSON Schema. */
export type SchemaObject = { readonly [keyword: string]: unknown }
type Reference = { readonly $ref: string }

export type ParameterObject = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: SchemaObject
}

type MediaTypes = { readonly [type: string]: { readonly schema: SchemaObject; readonly example?: object } }

export type ResponseObject = {
  readonly description: string
  readonly headers?: { readonly [name: string]: Reference }
  readonly content?: MediaTypes
}

export type OperationObject = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly { readonly [scheme: string]: readonly string[] }[]
  readonly parameters?: readonly ParameterObject[]
  readonly requestBody?: { readonly required: boolean; readonly content: MediaTypes }
  readonly responses: { readonly [status: string]: ResponseObject | Reference }
  readonly 'x-codeSamples'?: readonly CodeSample[]
  /** Models that accept the field. */
  readonly 'x-models'?: readonly string[]
  /** Who may call an endpoint of the console. */
  readonly 'x-access'?: string
}

export type PathItems = { readonly [path: string]: { readonly [method: string]: OperationObject } }

export type ApiDocument = {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: PathItems
  readonly components: { readonly [kind: string]: { readonly [name: string]: object } }
}
