#!/usr/bin/env node
'use strict'

// The command, of the package and of a clone. An old Node would fail at the first line of a module it cannot parse, so it
// is asked first. Plain JavaScript, so that what a clone runs is compiled once: with TypeScript at its entry Node loads its
// compiler at every start, a tenth of the time that one takes.
require('./guard.cjs')
require('node:module').enableCompileCache()
void import(require('node:fs').existsSync(`${__dirname}/bin.js`) ? './bin.js' : './bin.ts')
