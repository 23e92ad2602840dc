import { language, t, translate } from './index.ts'

/** Sentences that charges store as warnings, with their facts; warnings of earlier versions are included. */
const known: readonly (readonly [sentence: RegExp, translate: (...facts: readonly string[]) => string])[] = [
  [
    /^size (\S+) does not set the price: family \S+ returns (\S+), and .* \(([^()]+)\)$/,
    (_requested, returned, made) => translate('mismatch.ignored', { returned: returned ?? '', made: made ?? '' }),
  ],
  [
    /^size (\S+) is billed (\S+) by the requested size, but family \S+ makes no more than (\S+) of it \(([^()]+)\); size (\S+) is billed \S+$/,
    (_requested, billed = '', made = '', returned = '', cheaper = '') =>
      t('mismatch.dearer', { billed, made, pixels: pixelsOf(returned) }) + t('mismatch.cheaper', { cheaper, made }),
  ],
  [
    /^size (\S+) is billed (\S+) by the requested size, although the (?:image that comes back|returned image) is (\S+) \((\S+) by its long edge\)$/,
    (_requested, billed = '', returned = '', made = '') => t('mismatch.other', { billed, returned, made }),
  ],
  [
    /^this is the price of the images; (?:what else the request used|other usage of the request(?:, if it is charged,)?) is charged as (\S+)$/,
    (id = '') => t('warning.part', { id }),
  ],
  [/^the prices for (.+) apply$/, (conditions = '') => t('warning.override', { conditions })],
  [/^times (\S+) for (.+)$/, (by = '', conditions = '') => t('warning.times', { by, conditions })],
  [
    /^charged by (?:what is used; the hold is the most|usage; the hold is the maximum) that the request allows: (.+), times (?:the group's multiplier|(\S+) included)$/,
    (usage = '', multiplier) =>
      t('warning.use', {
        told: usage,
        factor: multiplier === undefined ? t('warning.group') : t('warning.factor', { multiplier }),
      }),
  ],
]

/** A warning in the chosen language; undefined if there is only the gateway's English text. */
export function tWarning(text: string): string | undefined {
  if (language.value === 'en') return undefined
  for (const [sentence, write] of known) {
    const facts = sentence.exec(text)
    if (facts) return write(...facts.slice(1))
  }
  return undefined
}

/** The returned size, if its pixels are known. */
function pixelsOf(returned: string): string {
  return /^\d/.test(returned) ? t('mismatch.pixels', { size: returned }) : ''
}
