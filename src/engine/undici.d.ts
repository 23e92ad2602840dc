// undici's own types name these classes; only the paths to them alone are not declared.
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici'
}
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici'
}
declare module 'undici/lib/core/symbols.js' {
  const symbols: {
    /** Of a socket: what reads it. */
    readonly kParser: unique symbol
  }
  export default symbols
}
