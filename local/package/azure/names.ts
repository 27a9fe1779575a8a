/** Names and ids of the template's resources, as expressions without brackets. All depend only on the parameter `name`. */

export const parameter = (name: string): string => `[parameters('${name}')]`;
export const named = (suffix: string): string => `[concat(parameters('name'), '${suffix}')]`;

/** Names of storage accounts may contain only letters and digits. */
export const storageName = "concat('st', uniqueString(resourceGroup().id, parameters('name')))";
/** Not the host's account, because access to it includes the app's code and keys. */
export const stateName = "concat('dt', uniqueString(resourceGroup().id, parameters('name')))";

const inState = (type: string, name: string): string =>
  `resourceId('Microsoft.Storage/storageAccounts/${type}', ${stateName}, 'default'${name && `, '${name}'`})`;

export const ids = {
  namespace: "resourceId('Microsoft.ServiceBus/namespaces', parameters('name'))",
  storage: `resourceId('Microsoft.Storage/storageAccounts', ${storageName})`,
  state: `resourceId('Microsoft.Storage/storageAccounts', ${stateName})`,
  tables: inState('tableServices', ''),
  blobs: inState('blobServices', ''),
  table: inState('tableServices/tables', 'jobs'),
  logs: "resourceId('Microsoft.OperationalInsights/workspaces', concat(parameters('name'), '-logs'))",
  insights: "resourceId('Microsoft.Insights/components', concat(parameters('name'), '-insights'))",
  plan: "resourceId('Microsoft.Web/serverfarms', concat(parameters('name'), '-plan'))",
  site: "resourceId('Microsoft.Web/sites', concat(parameters('name'), '-app'))",
} as const;

export const containerId = (name: string): string => inState('blobServices/containers', name);

export const templateFile = 'azure.template.json';
