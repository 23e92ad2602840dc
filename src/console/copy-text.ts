/**
 * Puts a text on the clipboard. `near`: what has the focus, which it has again afterwards.
 * @throws what the browser says when it refuses
 */
export async function copyText(text: string, near: HTMLElement): Promise<void> {
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
