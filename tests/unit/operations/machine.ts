export * from "../../../simulate/servers/machine.ts";
