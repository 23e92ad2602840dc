const shapes = {
  costs: 'M4 20V4m0 16h16M8 16v-4m4 4V7m4 9v-6',
  budgets: 'M4 14a8 8 0 0 1 16 0m-8 0 4-5M4 18h16',
  statements: 'M7 3h7l4 4v14H7zm7 0v4h4M10 11h5m-5 3h5m-5 3h3',
  tokens: 'M14 10a4 4 0 1 0-4 4l1.5-1.5L20 4m-3 3 3 3M10 14v0',
  logs: 'M5 6h14M5 12h14M5 18h9',
  playground: 'M8 5v14l11-7z',
  models: 'M12 3 4 7.5v9L12 21l8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zm-6 9c0-3.3 2.7-5.5 6-5.5s6 2.2 6 5.5M16 4.5a3.5 3.5 0 0 1 0 6M18 15c2 .8 3 2.600 3 5',
  config: 'M8 4c-2 0-2 1-2 3s0 3-2 5c2 2 2 3 2 5s0 3 2 3m8-16c2 0 2 1 2 3s0 3 2 5c-2 2-2 3-2 5s0 3-2 3',
  audit: 'M9 4h6v3H9zM7 5H5v15h14V5h-2m-8 8 2 2 4-4',
  sessions: 'M4 8h14m-4-4 4 4-4 4m6 4H6m4-4-4 4 4 4',
  system: 'M4 5h16v6H4zm0 8h16v6H4zm3-5h.01M7 16h.01',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7 8c0-3.500 3-6 7-6s7 2.500 7 6',
  price: 'M4 12V4h8l8 8-8 8zM8 8h.01',
  docs: 'M6 4h9l4 4v12H6zm9 0v4h4M9 12h6m-6 4h6',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm5-2 4.500 4.500',
  keyboard: 'M3 7h18v10H3zm4 3.500h.01M12 10.500h.01M17 10.500h.01M8 14h8',
  theme: 'M12 4a8 8 0 1 0 8 8 6.500 6.500 0 0 1-8-8z',
  leave: 'M14 4h5v16h-5M4 12h10m-6-4-4 4 4 4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'M5 12.500 10 17 19 7',
  plus: 'M12 5v14M5 12h14',
  up: 'M12 19V6m-5 5 5-5 5 5',
  down: 'M12 5v13m-5-5 5 5 5-5',
  out: 'M14 5h5v5m0-5-8 8M18 14v5H5V6h5',
  good: 'M5 12.500 10 17 19 7',
  warn: 'M12 4 3 19h18zm0 6v4m0 2.500v.01',
  bad: 'M7 7l10 10M17 7 7 17',
  idle: 'M7 12h10',
} as const

export type IconName = keyof typeof shapes

/** A small decorative icon next to words. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  )
}
