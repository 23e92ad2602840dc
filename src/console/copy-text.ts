/**
 * Copies a text to the clipboard. `near`: the element with the focus, which gets it back.
 * @throws the browser's error if it refuses
 */
export async function copyText(text: string, near: HTMLElement): Promise<void> {
  // A page over plain http from another machine has no clipboard API.
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
