import type { Json, OperationTraits } from '../domain/index.ts'

/** The description of one operation: data and small pure functions. Routes and families refer to it by name. */
export type Operation = {
  readonly name: string
  /** The operation whose models its samples use, if no model offers this one because the gateway answers it. */
  readonly modelsOf?: string
  /** The API format of the operation. */
  readonly style: 'openai' | 'anthropic' | 'google' | 'cohere' | 'elevenlabs'
  /** The path for clients of its API format; `{model}`, `{id}`, `{item}` and `{voice}` are placeholders for names. */
  readonly path: string
  /** Absent for GET if a request has no body, else POST. */
  readonly method?: 'DELETE' | 'PATCH' | 'POST'
  /** The kind of the request body. */
  readonly body: 'json' | 'form' | 'any' | 'none'
  readonly words: { readonly en: OperationWords; readonly zh: OperationWords }
  /** The fields of its API format; a field that is not listed is described by its name alone. */
  readonly fields?: Fields
  /** Ready-to-paste requests, in display order; absent means the same as an empty list. */
  readonly samples?: (call: SampleCall) => readonly CodeSample[]
  /** The smallest request: for a test of a model at minimal cost. */
  readonly smallest?: (model: string) => SmallRequest
  /**
   * The fields of a request with a text, and with a maximum length of its answer if there is one; absent for the fields
   * of a chat.
   */
  readonly question?: (text: string, most?: number) => { readonly [name: string]: Json }
  /** A first request for a person with a new key; `{baseUrl}`, `{secret}` and `{model}` are placeholders. */
  readonly firstSteps?: readonly FirstStep[]
  readonly answer?: OperationAnswer
  /** The place of usage in answers, if it is not the usual one of the API format. */
  readonly usage?: {
    /** The member of a stream's event that contains a whole answer. */
    readonly inside?: 'response'
    /** Usage may be counted in seconds. */
    readonly seconds?: true
    /** The operation counts tokens and uses none: the member of its answer with the count. */
    readonly counted?: string
    /** Answers describe tokens that are stored for a period; `writes`: the tokens also count as input. */
    readonly stored?: {
      readonly tokens: readonly [string, string]
      readonly from: string
      readonly until: string
      readonly writes?: true
    }
  }
  /** Its name in lists of models, for API formats that list the operations of a model. */
  readonly listedAs?: string
  /** Its name in the GenAI semantic conventions of OpenTelemetry; absent if it is the operation's own name. */
  readonly otel?: string
  /** Its form in the playground; absent for none. */
  readonly form?: 'images' | 'edits' | 'conversation' | 'voice' | 'transcript' | 'vectors' | 'ranks'
  /** Properties for plugins, through the plan. */
  readonly traits: OperationTraits
}

export type OperationWords = {
  /** The label in the console, and on the pages of prices and of the reference. */
  readonly label: string
  /** The heading of the API reference. */
  readonly summary: string
}

/** JSON Schema, as in OpenAPI 3.1. */
export type FieldSchema = { readonly [keyword: string]: unknown }

/** A field in requests of its style, with descriptions in each language. */
export type Field = {
  readonly schema: FieldSchema
  readonly required?: true
  readonly en: string
  readonly zh: string
}

export type Fields = { readonly [name: string]: Field }

/** A whole answer, if it is not an object without a further description. */
export type OperationAnswer = {
  /** Its media type; absent for JSON. */
  readonly type?: string
  readonly schema: (language: 'en' | 'zh') => FieldSchema
  /** An example of an answer from an upstream. */
  readonly example?: object
}

/** The target of a sample's request; `model` is one with the operation. */
export type SampleCall = { readonly baseUrl: string; readonly path: string; readonly model: string }

/** A ready-to-paste request, in the format of an extension that renderers of OpenAPI documents read. */
export type CodeSample = { readonly lang: string; readonly label: string; readonly source: string }

/**
 * The body of a request, and whether it is a form; `params` are the names of its path parameters other than the model.
 */
export type SmallRequest = ({ readonly json: object } | { readonly form: FormData }) & {
  readonly params?: { readonly [name: string]: string }
}

export type FirstStep = { readonly name: string; readonly text: string }
