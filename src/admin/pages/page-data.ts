import type { PriceList, RequestExplanation } from '../../domain/index.ts'
import type { ApiDocument, SchemaObject } from '../openapi/types.ts'
import type { Language } from './language.ts'

/** The question of the calculator, as the address has it. */
export type Calculation = {
  readonly model: string
  readonly operation: string
  readonly size: string
  readonly n: string
  /** Fields that prices go by, by their names; those that were filled in. */
  readonly fields: { readonly [name: string]: string }
}

/** What came of it: the explanation, the words of the refusal that a caller would get, or a number that is none. */
export type Calculated =
  | { readonly kind: 'explained'; readonly explained: RequestExplanation }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'wrong_count' }

export type PricingPage = {
  readonly language: Language
  readonly list: PriceList
  /** Undefined before the first question. */
  readonly calculation: { readonly asked: Calculation; readonly result: Calculated } | undefined
}

export type DocsPage = {
  readonly language: Language
  readonly api: ApiDocument
  readonly list: PriceList
  readonly families: readonly {
    readonly name: string
    readonly notes: { readonly en: readonly string[]; readonly zh: readonly string[] }
  }[]
  /** What each status of a refusal means. */
  readonly errors: { readonly [status: string]: string }
  /** The shape of a refusal by style. */
  readonly errorShapes: { readonly [style: string]: SchemaObject }
  readonly baseUrl: string
}

/** The pages that are rendered ahead: what the console's build makes of `src/console/ahead`. Each gives a whole document. */
export type Pages = {
  renderPricing(page: PricingPage): string
  renderDocs(page: DocsPage): string
}
