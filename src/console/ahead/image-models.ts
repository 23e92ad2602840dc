import type { ImagePrices, PricedModel } from '../../kit/price-list.ts'
import { t } from './words.ts'

export type ImageModel = PricedModel & { readonly images: ImagePrices }

/** The models of a list that are charged by the image. */
export function imageModels(models: readonly PricedModel[]): readonly ImageModel[] {
  return models.filter((model): model is ImageModel => model.images !== null)
}

/** What decides the tier of an image, in this order, and what it is otherwise. */
export function tRule({ tierFrom: [first, second], otherwise }: ImagePrices): string {
  if (first === 'output') return t(second ? 'pricing.rule.output.request' : 'pricing.rule.output', { otherwise })
  return t(second ? 'pricing.rule.request.output' : 'pricing.rule.request', { otherwise })
}
