// Runs in a page, and returns the faults of its layout: one line for each fault, none for a good layout.
;(() => {
  const slack = 1.5
  const name = one => {
    const text = (one.getAttribute('aria-label') || one.textContent || one.getAttribute('name') || '').trim()
    return `<${one.tagName.toLowerCase()} class="${one.getAttribute('class') ?? ''}"> ${text.slice(0, 60)}`
  }
  const page = document.scrollingElement
  const faults = []
  if (page.scrollWidth > page.clientWidth)
    faults.push(`the page is ${page.scrollWidth} px wide, of ${page.clientWidth}`)

  const open = [...document.querySelectorAll('dialog[open]')].at(-1)
  if (open && open.scrollWidth > open.clientWidth)
    faults.push(`the dialog is ${open.scrollWidth} px wide, of ${open.clientWidth}`)
  // Content for screen readers only is clipped to nothing, and a skip link waits beyond the edge.
  const clipped = one => /inset\(50%\)/.test(getComputedStyle(one).clipPath)
  const readOnly = new Set([...document.querySelectorAll('thead, caption, .unseen')].filter(clipped))
  const seen = one =>
    one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    one.getClientRects().length > 0 &&
    !one.closest('.skip') &&
    ![...readOnly].some(hidden => hidden.contains(one))
  const all = [...(open ?? document.body).querySelectorAll('*')].filter(seen)

  // Content of a box that scrolls may be beyond it: only unreachable content is a fault.
  const clips = one => getComputedStyle(one).overflowX !== 'visible'
  const clip = one => {
    let box = { left: 0, top: -Infinity, right: innerWidth, bottom: Infinity }
    for (let at = one.parentElement; at && at !== document.documentElement; at = at.parentElement) {
      if (!clips(at)) continue
      const { left, top, right, bottom } = at.getBoundingClientRect()
      box = {
        left: Math.max(box.left, left),
        top: Math.max(box.top, top),
        right: Math.min(box.right, right),
        bottom: Math.min(box.bottom, bottom),
      }
    }
    return box
  }
  const scrolls = one => {
    for (let at = one.parentElement; at; at = at.parentElement)
      if (at !== document.body && /auto|scroll/.test(getComputedStyle(at).overflowX)) return true
    return false
  }
  // The box that holds it ends its text with an ellipsis, and has the complete text as its tooltip.
  const isShortened = one => {
    const box = one.parentElement?.closest('[title]')
    return box && getComputedStyle(box).textOverflow === 'ellipsis' && box.getBoundingClientRect().right <= innerWidth
  }
  for (const one of all) {
    const { left, right } = one.getBoundingClientRect()
    const isBeyond = left < -slack || right > innerWidth + slack
    if (isBeyond && !scrolls(one) && !isShortened(one)) faults.push(`beyond the edge: ${name(one)}`)
  }

  if (innerWidth >= 1280)
    for (const one of all)
      if (one.matches('.sheet') && one.scrollWidth > one.clientWidth + slack)
        faults.push(`a table stands beyond its sheet: ${name(one)}`)

  // A text that its box cuts off, or that extends beyond the box.
  const written = one => [...one.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '')
  for (const one of all) {
    const { display, overflowX, overflowY } = getComputedStyle(one)
    if (!(written(one) || one.matches('td, th')) || display === 'inline' || one.matches('textarea, select, option'))
      continue
    const wide = one.scrollWidth > one.clientWidth + slack && !/auto|scroll/.test(overflowX)
    const high = one.scrollHeight > one.clientHeight + slack && /hidden|clip/.test(overflowY)
    if ((wide || high) && !one.title) faults.push(`text is cut: ${name(one)}`)
  }

  // A text in a column so narrow that each line has only a few letters.
  const lettersMin = 4
  for (const one of all)
    for (const node of one.childNodes) {
      const text = node.nodeType === Node.TEXT_NODE ? node.data.trim() : ''
      if (text.length < 2 * lettersMin) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
      if (lines > 2 && text.length / lines < lettersMin) faults.push(`a few letters on each line: ${name(one)}`)
    }

  // Two things to press, one over the other.
  const pressed = all.filter(one => one.matches('a[href], button, input, select, textarea, summary'))
  const parts = pressed.flatMap(one => {
    const box = clip(one)
    return [...one.getClientRects()].map(({ left, top, right, bottom }) => ({
      one,
      left: Math.max(left, box.left),
      top: Math.max(top, box.top),
      right: Math.min(right, box.right),
      bottom: Math.min(bottom, box.bottom),
    }))
  })
  // Content under a sticky box can be scrolled out from under it.
  const stuck = one => {
    for (let at = one; at; at = at.parentElement) if (getComputedStyle(at).position === 'sticky') return at
    return null
  }
  for (const [i, a] of parts.entries())
    for (let j = i + 1; j < parts.length; j++) {
      const b = parts[j]
      // Most pairs do not overlap, which this check finds quickly; a page has thousands of pairs.
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left)
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
      if (!(width > slack && height > slack)) continue
      if (a.one === b.one || a.one.contains(b.one) || b.one.contains(a.one)) continue
      if (stuck(a.one) === stuck(b.one)) faults.push(`${name(a.one)} overlaps ${name(b.one)}`)
    }
  return [...new Set(faults)]
})()
