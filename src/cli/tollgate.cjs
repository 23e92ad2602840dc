#!/usr/bin/env node
'use strict'

// The command of the package and of a clone. The version is checked first, because an old Node would fail at the first
// line of a module that it cannot parse. This is plain JavaScript, so that the compile cache covers everything in a
// clone: with a TypeScript entry Node loads its compiler at every start, a tenth of the start time.
require('./guard.cjs')
require('node:module').enableCompileCache()
const isBuilt = require('node:fs').existsSync(`${__dirname}/bin.js`)

import(isBuilt ? './bin.js' : './bin.ts').catch(error => {
  const [, missing] = /^Cannot find package '([^']+)'/.exec(error.message) ?? []
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || missing === undefined) throw error
  const root = require('node:path').resolve(__dirname, isBuilt ? '../../..' : '../..')
  const remedy = isBuilt
    ? 'run `npm install` in the folder whose package.json names tollgate'
    : `run \`npm ci\` in ${root}, or \`npm ci --omit=dev\` for production`
  process.stderr.write(`tollgate's packages are not installed ('${missing}' is missing): ${remedy}.\n`)
  process.exitCode = 1
})
