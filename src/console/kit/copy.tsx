import { t } from '../words/index.ts'
import { Button } from './button.tsx'
import { CodeBox } from './code-box.tsx'
import { say } from './toast.tsx'

/** Puts a text on the clipboard. */
export function Copy({ text, label = t('copy') }: { readonly text: string; readonly label?: string }) {
  return (
    <Button
      icon="copy"
      onClick={event => {
        const button = event.currentTarget
        copy(text, button).then(
          () => say(t('copied')),
          () => say(t('copy.failed'), 'bad'),
        )
      }}
    >
      {label}
    </Button>
  )
}

async function copy(text: string, near: HTMLElement): Promise<void> {
  // A page that came by plain http from another machine has no clipboard of its own.
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  near.after(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  near.focus()
  if (!copied) throw new Error('refused')
}

/** A piece of text to read and to copy: a command, a program, a secret. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <CodeBox text={text} label={label}>
      <Copy text={text} />
    </CodeBox>
  )
}
