declare module 'undici/lib/util/timers.js' {
  const timers: { reset(): void }
  export default timers
}
