// Spares Azurite's start what it loads and does not use here: more than half of its 2,600 modules.
// `applicationinsights` sends telemetry, which --disableTelemetry forbids; `sequelize` is for AZURITE_DB.
"use strict";
const Module = require("node:module");

const standIns = new Map([["applicationinsights", {}]]);
if (!process.env.AZURITE_DB) {
  standIns.set("sequelize", { Model: class {} });
}
const load = Module._load;
Module._load = function (request, ...more) {
  return standIns.get(request) ?? load.call(this, request, ...more);
};
