import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { createKeyReader } from '../key-reader.ts'
import { Icon } from '../kit/icon.tsx'
import { later } from '../kit/later.tsx'
import { hasShortcuts } from '../shortcuts.ts'
import { t } from '../words/index.ts'
import type { NavigationItem } from './navigation.ts'

const ShortcutList = later(async () => (await import('./shortcut-list.tsx')).ShortcutList, null)

const Palette = later(async () => (await import('./palette.tsx')).Palette, null)

const isListed = signal(false)
const isSearching = signal(false)
/** The text typed between Ctrl+K and the palette's focus, which the palette takes over. */
let typedAhead = ''

function takeTyped(): string {
  const text = typedAhead
  typedAhead = ''
  return text
}

/** Inputs use letters themselves, and a select uses them to find an option. */
const typedInto =
  'textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=file], [type=button], [type=submit])'

/** Handles the keys for pages and the filter, and shows their list. `items`: the pages that the user may open. */
export function Shortcuts({ items }: { readonly items: readonly NavigationItem[] }) {
  const { route } = useLocation()
  const isOn = hasShortcuts.value
  useEffect(() => {
    if (!isOn) return undefined
    const read = createKeyReader(() => performance.now())
    const press = (event: KeyboardEvent): void => {
      const { target, defaultPrevented } = event
      if (defaultPrevented || (target instanceof Element && target.closest(typedInto))) return
      // A dialog covers the page. If shortcuts are turned off, that applies from the next key on.
      if (!hasShortcuts.value || isSearching.value || document.querySelector('dialog[open]')) return
      const wish = read(event)
      if (wish?.kind === 'list') isListed.value = true
      if (wish?.kind === 'filter') {
        // Otherwise the browser would type the pressed key into the filter.
        event.preventDefault()
        filterOf(document)?.focus()
      }
      const href = wish?.kind === 'go' && items.find(([, , , letter]) => letter === wish.letter)?.[0]
      if (!href) return
      if (href.startsWith('/console')) route(href)
      else location.assign(href)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [isOn, items])
  useEffect(() => {
    // Uses Ctrl or Command, so that it neither types into a text nor happens by accident.
    const press = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey } = event
      const isPending = isSearching.value && !document.querySelector('dialog[open]')
      if (isPending && key.length === 1 && !ctrlKey && !metaKey && !altKey) {
        event.preventDefault()
        typedAhead += key
        return
      }
      if (key.toLowerCase() !== 'k' || !(ctrlKey || metaKey) || altKey || event.shiftKey) return
      typedAhead = ''
      if (document.querySelector('dialog[open]')) return
      event.preventDefault()
      isSearching.value = true
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  if (isSearching.value)
    return (
      <Palette
        items={items}
        takeTyped={takeTyped}
        onClose={() => (isSearching.value = false)}
        onShortcuts={() => {
          isSearching.value = false
          isListed.value = true
        }}
      />
    )
  return isListed.value ? <ShortcutList items={items} onClose={() => (isListed.value = false)} /> : null
}

/** The button for the search in everything, which Ctrl+K opens too. */
export function SearchButton() {
  return (
    <button type="button" class="search-button" aria-haspopup="dialog" onClick={() => (isSearching.value = true)}>
      <Icon name="search" />
      {t('palette')}
      <kbd class="keys" aria-hidden="true">
        Ctrl K
      </kbd>
    </button>
  )
}

/** The first text filter of the page, or its first filter of any kind. */
function filterOf(page: Document): HTMLElement | undefined {
  const fields = page.querySelectorAll<HTMLElement>('main :is(search, .dates) :is(input, select), main [type=search]')
  const seen = [...fields].filter(field => field.checkVisibility())
  return seen.find(field => field.matches('[type=search]')) ?? seen[0]
}
