import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { t } from '../words/index.ts'
import { Button } from './button.tsx'

type DialogProps = {
  readonly title: ComponentChildren
  readonly onClose: () => void
  readonly children?: ComponentChildren
  /** Shown next to the page instead of over it. */
  readonly drawer?: boolean
  /** Whether only its own buttons close it, for content that is shown once. */
  readonly insist?: boolean
}

// A dialog that follows another one opens after that one has closed and returned the focus.
let lastPlace: HTMLElement | null = null

/** Open while it is rendered. Escape and its button close it, and the focus returns to its previous element. */
export function Dialog({ title, onClose, children, drawer = false, insist = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  const isLeft = useRef(false)
  const isPressed = useRef(false)
  const changed = useRef<Element | null>(null)
  const id = useId()
  // Preact runs the end of an effect later than the removal of its element. A back between the two would be lost.
  useLayoutEffect(() => {
    const before = placeOfFocus()
    const opened = dialog.current
    opened?.showModal()
    heading.current?.focus()
    // Back closes the dialog and keeps the page. A drawer has an address of its own, which back leaves.
    const onNavigate = (event: NavigateEvent) => {
      if (drawer || event.navigationType !== 'traverse' || !event.cancelable) return
      event.preventDefault()
      opened?.dispatchEvent(new Event('cancel'))
    }
    // An older browser has no such event, and leaves the page.
    const { navigation } = window as Partial<Window>
    navigation?.addEventListener('navigate', onNavigate)
    return () => {
      navigation?.removeEventListener('navigate', onNavigate)
      isLeft.current = true
      // While the dialog is open, nothing under it can get the focus.
      opened?.close()
      // The element is gone if another page opened this one with its dialog.
      if (before?.isConnected) before.focus()
      else document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={drawer ? 'drawer' : 'dialog'}
      aria-labelledby={id}
      onCancel={event => {
        // The cancel event of a file chooser bubbles up here too.
        if (event.target !== event.currentTarget) return
        event.preventDefault()
        if (!insist) onClose()
      }}
      onClose={event => {
        if (event.target !== event.currentTarget || isLeft.current) return
        // A browser may close it without a cancel event, because a page cannot keep it open after a second Escape. A
        // dialog that is rendered but closed would never open again.
        if (insist) dialog.current?.showModal()
        else onClose()
      }}
      onInput={event => {
        if (event.target instanceof Element) changed.current = event.target.closest('form')
      }}
      onMouseDown={event => (isPressed.current = event.target === event.currentTarget)}
      onClick={event => {
        // A selection of text that ends outside is no click there, and a slip must not discard what a form has.
        const isOutside = isPressed.current && event.target === event.currentTarget
        if (isOutside && !changed.current?.isConnected && !insist) onClose()
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id} ref={heading} tabIndex={-1}>
            {title}
          </h2>
          {!insist && <Button kind="quiet" icon="close" aria-label={t('close')} title={t('close')} onClick={onClose} />}
        </header>
        {children}
      </div>
    </dialog>
  )
}

function placeOfFocus(): HTMLElement | null {
  const { activeElement } = document
  if (activeElement instanceof HTMLElement && activeElement !== document.body) lastPlace = activeElement
  return lastPlace
}
