import { Button } from '../../kit/button.tsx'
import { t } from '../../words/index.ts'
import { useText } from './drafts.ts'

export type Turn = { readonly role: 'user' | 'assistant'; readonly content: string }

/** The conversation so far. It remains while the page is open, like other drafts, and is sent with each message. */
export function useTurns(operation: string) {
  const [text, setText] = useText(operation, 'turns', '[]')
  const turns = JSON.parse(text) as readonly Turn[]
  return [turns, (next: readonly Turn[]) => setText(JSON.stringify(next))] as const
}

/** Earlier messages, oldest first. */
export function Turns({ of, onClear }: { readonly of: readonly Turn[]; readonly onClear: () => void }) {
  if (of.length === 0) return null
  return (
    <section class="stack tight" aria-label={t('play.turns')}>
      <ol class="turns">
        {of.map(({ role, content }, i) => (
          <li key={i} class={role}>
            <span class="quiet">{t(`play.role.${role}`)}</span>
            <p class="reply theirs">{content}</p>
          </li>
        ))}
      </ol>
      <div>
        <Button onClick={onClear}>{t('play.turns.clear')}</Button>
      </div>
    </section>
  )
}
