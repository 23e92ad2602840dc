import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

type Toast = { readonly text: string; readonly tone: 'good' | 'bad' }

const toast = signal<Toast | null>(null)
const shownMs = 6000

/** Shows a short message above everything else. */
export function say(text: string, tone: Toast['tone'] = 'good'): void {
  toast.value = { text, tone }
}

export function Toasts() {
  const place = useRef<HTMLDivElement>(null)
  const shown = toast.value
  useEffect(() => {
    if (!shown) return undefined
    // Hiding and showing it again moves it above a dialog that was opened meanwhile.
    place.current?.hidePopover()
    place.current?.showPopover()
    const timer = setTimeout(() => {
      toast.value = null
      place.current?.hidePopover()
    }, shownMs)
    return () => clearTimeout(timer)
  }, [shown])
  return (
    <div ref={place} popover="manual" class={`toast ${shown?.tone ?? ''}`} role="status">
      {shown?.text}
    </div>
  )
}
