// needs: root systemd-nspawn mmdebstrap ip k3s etcd kube-apiserver kube-controller-manager
/**
 * Clusters with several servers: drains against real budgets, then three machines with a real k3s each.
 */
import "./servers/drain.ts";
import "./servers/story.ts";
