import { copyText } from './copy-text.ts'
import { remember } from './remember.ts'

// Optional script of the reference: samples are tabs, all with the last chosen language, and boxes can be copied.

const page = document.querySelector<HTMLElement>('.reference')
const words = page?.dataset ?? {}
const groups = [...document.querySelectorAll<HTMLElement>('.samples')]
const languages = [...new Set([...document.querySelectorAll<HTMLElement>('[data-sample]')].map(nameOf))]

for (const [i, group] of groups.entries()) makeTabs(group, i)
for (const box of document.querySelectorAll<HTMLElement>('.code-box')) makeCopy(box)
const known = remember.read('sample', languages)
if (known !== undefined) pick(known)

function nameOf(sample: HTMLElement): string {
  return sample.dataset['sample'] ?? ''
}

/** The samples of one endpoint, one of which is shown. Without this script, the user opens each of them. */
function makeTabs(group: HTMLElement, at: number): void {
  const samples = [...group.querySelectorAll<HTMLDetailsElement>('[data-sample]')]
  const list = document.createElement('div')
  list.setAttribute('role', 'tablist')
  list.setAttribute('aria-label', words['samples'] ?? '')
  for (const [i, sample] of samples.entries()) {
    const tab = document.createElement('button')
    tab.type = 'button'
    tab.textContent = nameOf(sample)
    tab.id = `sample-${at}-${i}`
    tab.setAttribute('role', 'tab')
    tab.addEventListener('click', () => {
      remember.write('sample', nameOf(sample))
      stay(tab, () => pick(nameOf(sample)))
    })
    const panel = document.createElement('div')
    panel.id = `${tab.id}-panel`
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-labelledby', tab.id)
    panel.append(...[...sample.children].filter(one => one.tagName !== 'SUMMARY'))
    panel.dataset['sample'] = nameOf(sample)
    tab.setAttribute('aria-controls', panel.id)
    sample.replaceWith(panel)
    list.append(tab)
  }
  list.addEventListener('keydown', event => {
    // A key with one of these modifiers belongs to the browser, such as Alt and an arrow for back.
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const tabs = [...list.children] as HTMLElement[]
    const next = by && tabs.at((tabs.indexOf(event.target as HTMLElement) + by) % tabs.length)
    if (!next) return
    event.preventDefault()
    next.focus()
    next.click()
  })
  group.classList.add('tabs')
  group.querySelector('h4')?.after(list)
  show(group, nameOf(samples[0] ?? group))
}

/** Shows a language in every group that has it. */
function pick(language: string): void {
  for (const group of groups) if (tabsOf(group).some(tab => tab.textContent === language)) show(group, language)
}

function show(group: HTMLElement, language: string): void {
  for (const tab of tabsOf(group)) {
    tab.setAttribute('aria-selected', String(tab.textContent === language))
    tab.tabIndex = tab.textContent === language ? 0 : -1
  }
  for (const panel of group.querySelectorAll<HTMLElement>('[role=tabpanel]')) panel.hidden = nameOf(panel) !== language
}

function tabsOf(group: HTMLElement): readonly HTMLElement[] {
  return [...group.querySelectorAll<HTMLElement>('[role=tab]')]
}

/** Samples above change their height with the language, so this keeps the position of the view. */
function stay(place: HTMLElement, change: () => void): void {
  const before = place.getBoundingClientRect().top
  change()
  scrollBy(0, place.getBoundingClientRect().top - before)
}

function makeCopy(box: HTMLElement): void {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'button plain'
  button.textContent = words['copy'] ?? ''
  const status = document.createElement('span')
  status.className = 'quiet'
  status.setAttribute('role', 'status')
  button.addEventListener('click', () => {
    copyText(box.querySelector('pre')?.textContent ?? '', button).then(
      () => (status.textContent = words['copied'] ?? ''),
      () => (status.textContent = words['failed'] ?? ''),
    )
  })
  box.append(button, status)
}
