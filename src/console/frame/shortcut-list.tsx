import { Dialog } from '../kit/dialog.tsx'
import { Facts } from '../kit/facts.tsx'
import { hasShortcuts } from '../shortcuts.ts'
import { t } from '../words/index.ts'
import { accountItem, type NavigationItem } from './navigation.ts'

/** The list of shortcuts, and the way to turn them off. */
export function ShortcutList({
  items,
  onClose,
}: {
  readonly items: readonly NavigationItem[]
  readonly onClose: () => void
}) {
  return (
    <Dialog title={t('shortcuts')} onClose={onClose}>
      <p class="quiet">
        {t(hasShortcuts.value ? 'shortcuts.text' : 'shortcuts.off')}{' '}
        <a href={accountItem[0]} onClick={onClose}>
          {t('nav.account')}
        </a>
      </p>
      <Facts
        of={[
          [t('shortcuts.list'), <kbd>?</kbd>],
          [t('shortcuts.filter'), <kbd>/</kbd>],
          [
            t('shortcuts.search'),
            <>
              <kbd>Ctrl</kbd> <kbd>K</kbd>
            </>,
          ],
          ...items.map(
            ([, word, , letter]) =>
              [
                t(word),
                <>
                  <kbd>g</kbd> <kbd>{letter}</kbd>
                </>,
              ] as const,
          ),
        ]}
      />
    </Dialog>
  )
}
