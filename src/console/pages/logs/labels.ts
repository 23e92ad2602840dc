import { tName } from '../../words/index.ts'

/** The source of a tier, as in the record (`docs/rules.md#billing-labels`). */
export const sources: { readonly [source: string]: string } = {
  told: '应答所述',
  output: '输出尺寸',
  request: '请求尺寸',
  default: '默认',
}

/** The source of a tier: the word of the record, and its meaning. */
export function sourceText(source: string): string {
  const chinese = sources[source]
  return chinese === undefined ? source : label(chinese, tName('source', source))
}

/**
 * The label of the bill (`docs/rules.md#billing-labels`), and its meaning if the reader's language is another.
 */
export function label(chinese: string, english: string): string {
  return english === chinese ? chinese : `${chinese} ${english}`
}
