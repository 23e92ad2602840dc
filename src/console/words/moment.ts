import { language } from './index.ts'

/** A moment in the reader's own time. */
export function momentText(moment: Date, seconds = false): string {
  return new Intl.DateTimeFormat(language.value === 'zh' ? 'zh-CN' : 'en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds && { second: '2-digit' }),
    hourCycle: 'h23',
  }).format(moment)
}
