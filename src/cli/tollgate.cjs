#!/usr/bin/env node
'use strict'

// The published command. An old Node would fail at the first line of a module it cannot parse, so it is asked first.
require('./guard.cjs')
void import('./bin.js')
