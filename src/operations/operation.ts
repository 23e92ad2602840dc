import type { OperationTraits } from '../domain/index.ts'

/** All that is said of one operation: data and small pure functions. The name is what routes and families call it. */
export type Operation = {
  readonly name: string
  /** The operation whose models its samples use, if no model offers this one: the gateway answers it. */
  readonly modelsOf?: string
  /** The wire style that it belongs to. */
  readonly style: 'openai' | 'anthropic' | 'google' | 'cohere' | 'elevenlabs'
  /** The path for clients of its API format; `{model}`, `{id}`, `{item}` and `{voice}` are placeholders for names. */
  readonly path: string
  /** Absent for GET where a request carries nothing, else POST. */
  readonly method?: 'DELETE' | 'PATCH' | 'POST'
  /** What a request carries. */
  readonly body: 'json' | 'form' | 'any' | 'none'
  readonly words: { readonly en: OperationWords; readonly zh: OperationWords }
  /** What its style defines; a field that is not here is described by its name alone. */
  readonly fields?: Fields
  /** Ready-to-paste requests, in the order to show them; none is like an empty list. */
  readonly samples?: (call: SampleCall) => readonly CodeSample[]
  /** The smallest request: a test of a model that costs next to nothing. */
  readonly smallest?: (model: string) => SmallRequest
  /** A first request for a person with a new key; `{baseUrl}`, `{secret}` and `{model}` are placeholders. */
  readonly firstSteps?: readonly FirstStep[]
  readonly answer?: OperationAnswer
  /** Where answers report their usage, if that is elsewhere than in the other answers of the API format. */
  readonly usage?: {
    /** The member of a stream's event that is what a whole answer would be. */
    readonly inside?: 'response'
    /** Seconds may be what is counted. */
    readonly seconds?: true
    /** The operation counts tokens and uses none: the member of its answer with the count. */
    readonly counted?: string
    /** Answers describe tokens that are kept from one time to another; `writes`: the tokens are read as input, too. */
    readonly stored?: {
      readonly tokens: readonly [string, string]
      readonly from: string
      readonly until: string
      readonly writes?: true
    }
  }
  /** Its name in lists of models, in the API formats that list what a model can do. */
  readonly listedAs?: string
  /** Its name in the GenAI semantic conventions of OpenTelemetry; absent for its own. */
  readonly otel?: string
  /** Its form in the playground; absent for none. */
  readonly form?: 'images' | 'edits' | 'conversation' | 'voice' | 'transcript' | 'vectors' | 'ranks'
  /** What plugins know of it, through the plan. */
  readonly traits: OperationTraits
}

export type OperationWords = {
  /** In the console, and on the pages of prices and of the reference. */
  readonly label: string
  /** The heading of the API reference. */
  readonly summary: string
}

/** JSON Schema, as OpenAPI 3.1 has it. */
export type FieldSchema = { readonly [keyword: string]: unknown }

/** A field as clients of its style send it, in words of each language. */
export type Field = {
  readonly schema: FieldSchema
  readonly required?: true
  readonly en: string
  readonly zh: string
}

export type Fields = { readonly [name: string]: Field }

/** What a whole answer is, where it is not an object of which no more is said. */
export type OperationAnswer = {
  /** Its media type; absent for JSON. */
  readonly type?: string
  readonly schema: (language: 'en' | 'zh') => FieldSchema
  /** One answer, as an upstream may give it. */
  readonly example?: object
}

/** Where a sample sends its request; `model` is one that takes the operation. */
export type SampleCall = { readonly baseUrl: string; readonly path: string; readonly model: string }

/** A ready-to-paste request; the extension is one that renderers of OpenAPI documents read. */
export type CodeSample = { readonly lang: string; readonly label: string; readonly source: string }

/** The body of a request, and whether it is a form; `params` are the names of its path other than the model. */
export type SmallRequest = ({ readonly json: object } | { readonly form: FormData }) & {
  readonly params?: { readonly [name: string]: string }
}

export type FirstStep = { readonly name: string; readonly text: string }
