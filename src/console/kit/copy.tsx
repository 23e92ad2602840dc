import { copyText } from '../copy-text.ts'
import { t } from '../words/index.ts'
import { Button } from './button.tsx'
import { CodeBox } from './code-box.tsx'
import { say } from './toast.tsx'

/** Copies a text to the clipboard. */
export function Copy({ text, label = t('copy') }: { readonly text: string; readonly label?: string }) {
  return (
    <Button
      icon="copy"
      onClick={event => {
        const button = event.currentTarget
        copyText(text, button).then(
          () => say(t('copied')),
          () => say(t('copy.failed'), 'bad'),
        )
      }}
    >
      {label}
    </Button>
  )
}

/** A text to read and copy: a command, a program, a secret. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <CodeBox text={text} label={label}>
      <Copy text={text} />
    </CodeBox>
  )
}
