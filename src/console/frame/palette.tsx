import { useLocation } from 'preact-iso'
import { useEffect, useId } from 'preact/hooks'
import { queryText } from '../api/call.ts'
import { useKeyPicks, useModelPicks, useUserPicks } from '../api/pickers.ts'
import { useMay } from '../api/session.ts'
import { Button } from '../kit/button.tsx'
import { Combobox, type Option } from '../kit/combobox.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { t } from '../words/index.ts'
import type { NavigationItem } from './navigation.ts'

/** Opens a page, a request, or the costs of a model, key or user. `items`: the pages that the user may open. */
export function Palette({
  items,
  takeTyped,
  onClose,
  onShortcuts,
}: {
  readonly items: readonly NavigationItem[]
  /** The text that was typed before this component loaded. */
  readonly takeTyped: () => string
  readonly onClose: () => void
  /** Shows the list of keys instead. */
  readonly onShortcuts: () => void
}) {
  const { route } = useLocation()
  const id = useId()
  const changesUsers = useMay('admin')
  const keys = useKeyPicks()
  const users = useUserPicks()
  const models = useModelPicks()
  const of = (word: string, found: readonly Option[], href: (value: string) => string): readonly Option[] =>
    found.map(({ value, text }) => ({ value: href(value), text, note: word }))
  const options = [
    ...items.map(([href, word]) => ({ value: href, text: t(word), note: t('palette.page') })),
    ...of(t('token'), keys.options, value => `/console/tokens/${encodeURIComponent(value)}`),
    ...of(t('user'), users.options, value =>
      changesUsers ? `/console/users${queryText({ edit: value })}` : `/console/logs${queryText({ user: value })}`,
    ),
    ...of(t('model'), models, value => `/console/logs${queryText({ model: value })}`),
  ]
  useEffect(() => {
    const input = document.getElementById(id)
    if (!(input instanceof HTMLInputElement)) return
    input.focus()
    const text = takeTyped()
    if (text === '') return
    input.value = text
    input.dispatchEvent(new Event('input', { bubbles: true }))
  }, [id])
  return (
    <Dialog title={t('palette')} onClose={onClose}>
      <div class="palette">
        <label class="hint" for={id}>
          {t('palette.text')}
        </label>
        <Combobox
          id={id}
          value=""
          options={options}
          isFree
          isOnce
          isOpen
          onSearch={text => {
            keys.search(text)
            users.search(text)
          }}
          onPick={(value, option) => {
            const href = option ? value : hrefOfText(value)
            onClose()
            if (href.startsWith('/console')) route(href)
            else location.assign(href)
          }}
        />
        <div class="keys">
          <Button kind="quiet" icon="keyboard" onClick={onShortcuts}>
            {t('shortcuts')} <kbd>?</kbd>
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

/** A request's id opens its details; any other text is the name of a model. */
function hrefOfText(text: string): string {
  return /^req_\w+$/.test(text) ? `/console/logs/${text}` : `/console/logs${queryText({ model: text })}`
}
