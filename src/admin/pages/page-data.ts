import type { PriceList, RequestExplanation } from '../../domain/index.ts'
import type { ApiDocument, SchemaObject } from '../openapi/types.ts'
import type { Language } from './language.ts'

/** The inputs of the calculator, from the address. */
export type Calculation = {
  readonly model: string
  readonly operation: string
  readonly size: string
  readonly n: string
  /** Fields that prices depend on, by name; empty fields are left out. */
  readonly fields: { readonly [name: string]: string }
}

/** The result: the explanation, the refusal that a client would get, or an invalid number. */
export type Calculated =
  | { readonly kind: 'explained'; readonly explained: RequestExplanation }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'wrong_count' }

export type PricingPage = {
  readonly language: Language
  readonly list: PriceList
  /** Undefined before the first calculation. */
  readonly calculation: { readonly request: Calculation; readonly result: Calculated } | undefined
}

export type DocsPage = {
  readonly language: Language
  readonly api: ApiDocument
  readonly list: PriceList
  readonly families: readonly {
    readonly name: string
    readonly notes: { readonly en: readonly string[]; readonly zh: readonly string[] }
  }[]
  /** The meaning of each error status. */
  readonly errors: { readonly [status: string]: string }
  /** The shape of an error by style. */
  readonly errorShapes: { readonly [style: string]: SchemaObject }
  readonly baseUrl: string
}

/**
 * The pages that are rendered on the server: the console's build compiles them from `src/console/prerendered`. Each
 * returns a whole document.
 */
export type Pages = {
  /** Very many prices are rendered in steps, and `pause` lets requests run between them. */
  renderPricing(page: PricingPage, pause: () => Promise<unknown>): Promise<string>
  renderDocs(page: DocsPage): string
}
