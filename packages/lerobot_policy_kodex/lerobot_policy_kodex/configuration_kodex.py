"""What LeRobot has to know of a policy before it loads it: which numbers go in and come out."""

from dataclasses import dataclass, field

from lerobot.configs import FeatureType, NormalizationMode, PolicyFeature, PreTrainedConfig

from kodex.interfaces import PolicySpec

# as in the data sets that kodex writes
ROBOT, OBJECT, CONTEXT = (
    "observation.state", "observation.environment_state", "observation.context",
)  # fmt: skip


@PreTrainedConfig.register_subclass("kodex")
@dataclass
class KodexConfig(PreTrainedConfig):
    """Features alone: everything else is in the policy's own folder."""

    device: str | None = "cpu"
    normalization_mapping: dict[str, NormalizationMode] = field(
        default_factory=lambda: {
            kind.name: NormalizationMode.IDENTITY
            for kind in (FeatureType.STATE, FeatureType.ENV, FeatureType.ACTION)
        }
    )

    @classmethod
    def of(cls, spec: PolicySpec) -> "KodexConfig":
        """Return the features of a policy of kodex."""
        if spec.layout is None:
            raise ValueError("a policy for LeRobot must observe the state; this one does not")
        sizes = {
            ROBOT: (FeatureType.STATE, len(spec.layout.robot)),
            OBJECT: (FeatureType.ENV, len(spec.layout.object)),
            CONTEXT: (FeatureType.STATE, len(spec.context)),
        }
        return cls(
            input_features={
                name: PolicyFeature(kind, (size,)) for name, (kind, size) in sizes.items() if size
            },
            output_features={"action": PolicyFeature(FeatureType.ACTION, (spec.action_size,))},
        )

    @property
    def observation_delta_indices(self) -> None:
        """One observation at a time."""
        return

    @property
    def action_delta_indices(self) -> None:
        """One action at a time."""
        return

    @property
    def reward_delta_indices(self) -> None:
        """No rewards."""
        return

    def get_optimizer_preset(self) -> None:
        """Refuse: kodex learns in closed form."""
        raise NotImplementedError("kodex learns in closed form: kodex fit, not lerobot-train")

    def get_scheduler_preset(self) -> None:
        """Return nothing to schedule."""
        return

    def validate_features(self) -> None:
        """Accept what `of` has made."""
