import type { ImagePrices, PricedModel } from '../../domain/price-list.ts'
import { t } from './words.ts'

export type ImageModel = PricedModel & { readonly images: ImagePrices }

/** The models of a list that are charged per image. */
export function imageModels(models: readonly PricedModel[]): readonly ImageModel[] {
  return models.filter((model): model is ImageModel => model.images !== null)
}

/** The rule for the price of an image: its criteria in order, and the default. */
export function tRule({ by, tierFrom, otherwise }: ImagePrices): string {
  if (by?.length === 0) return t('pricing.rule.one')
  if (by) {
    const values = by.join(t('pricing.and'))
    return by.includes('tier')
      ? t('pricing.rule.by.tier', { values, from: tFrom(tierFrom) })
      : t('pricing.rule.by', { values })
  }
  const [first, second] = tierFrom
  if (first === 'told' || tierFrom.includes('told')) return t('pricing.rule.told', { from: tFrom(tierFrom), otherwise })
  if (first === 'output') return t(second ? 'pricing.rule.output.request' : 'pricing.rule.output', { otherwise })
  return t(second ? 'pricing.rule.request.output' : 'pricing.rule.request', { otherwise })
}

function tFrom(tierFrom: ImagePrices['tierFrom']): string {
  return tierFrom.map(source => t(`pricing.from.${source}`)).join(t('pricing.else'))
}
